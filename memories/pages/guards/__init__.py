"""The Guards page: faithfulness of an answer, grounding verdicts, and the escape rate of all guards."""
