"""Text analysis: names, entities, dates, sentences and secrets."""
