"""What queries emphasise."""

import pytest

from memories.text.emphasis import query_emphasis

ANALYTICAL = {
    "What's the reason we picked Postgres?": ("reason",),
    "Why did the deploy fail?": ("why",),
    "Why did the latest deploy fail today?": ("why",),
    "How come invoicing is slow?": ("how come",),
    "What is the reason for the outage?": ("reason for",),
    "What caused the outage?": ("caused",),
    "What led to the rollback?": ("led to",),
    "Compare PostgreSQL and MySQL": ("compare",),
    "PostgreSQL vs. MySQL": ("vs",),
    "What is the difference between staging and production?": ("difference",),
    "What is the relationship between Maya and Priya?": ("relationship",),
    "How is Maya related to Priya?": ("related to",),
    "Which services depend on the ledger?": ("depend on",),
    "How does the backup work?": ("how",),
    "Do you know how to reset the router?": ("how",),
    "How did the new pricing affect churn?": ("affect",),
    "What do Jonas and Ada have in common?": ("have in common",),
    "Explain the incident": ("explain",),
}
RECENT = {
    "What is the latest on the migration?": ("latest",),
    "Any news from Lisbon?": ("news",),
    "What happened today?": ("today",),
    "What did Maya say yesterday?": ("yesterday",),
    "Who is on call right now?": ("right now",),
    "Where does Priya currently live?": ("currently",),
    "What has Jonas been working on lately?": ("lately",),
    "How is the project going these days?": ("these days",),
    "What's new in the ledger?": ("what's new",),
    "When was the last time the backup ran?": ("last time",),
    "Most recent decision about MySQL": ("most recent",),
    "The person who broke the build yesterday": ("yesterday",),
    "How many invoices came in this week?": ("this week",),
    "Decisions of the past few days": ("past few days",),
    "What changed since Monday?": ("what changed",),
}
FACTUAL = {
    "Who owns the ledger?": ("who",),
    "What database does invoicing use?": ("what",),
    "Which port does it listen on?": ("which",),
    "When was Alma born?": ("when",),
    "Where is the offsite?": ("where",),
    "To whom does Priya report?": ("whom",),
    "In which year did Jonas leave?": ("which",),
    "Tell me where the keys are": ("where",),
    "How many people work at Arrive?": ("how many",),
    "How old is the boat?": ("how old",),
    "Phone number of Maya": ("number",),
    "Priya's birthday": ("birthday",),
    "Does Alma eat hazelnuts?": ("does",),
    "What is the database connection string?": ("what",),
    "What is the name of the newsletter?": ("what", "name"),
    "What did they know?": ("what",),
}
NONE = ("", "invoice backup", "Maya Lindqvist", "the day when we met", "a friend who plays chess", "However it goes")
CASES = [
    *((query, "analytical", words) for query, words in ANALYTICAL.items()),
    *((query, "recent", words) for query, words in RECENT.items()),
    *((query, "factual", words) for query, words in FACTUAL.items()),
    *((query, "none", ()) for query in NONE),
]


@pytest.mark.parametrize(("query", "name", "words"), CASES)
def test_a_query_emphasises_what_its_words_say(query: str, name: str, words: tuple[str, ...]) -> None:
    emphasis = query_emphasis(query)
    assert (emphasis.name, emphasis.words) == (name, words)


@pytest.mark.parametrize(("query", "name", "words"), CASES)
def test_upper_case_and_a_missing_question_mark_change_nothing(query: str, name: str, words: tuple[str, ...]) -> None:
    assert query_emphasis(query.upper().rstrip("?")).name == name
