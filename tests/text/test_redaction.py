"""What is redacted before storing, and what is not."""

import time
from collections import Counter
from uuid import uuid4

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memories.contracts.new_memory import NewMemory, Utterance
from memories.text.payment_numbers import IBAN_LENGTHS, is_card, mod_97
from memories.text.secret_redaction import redact_text
from memories.web.api_keys import make_key
from memories.writing.prepare import redact_memory
from memories.writing.turns.conversation import Conversation, NewTurn, redact_conversation
from tests.support.examples import examples

PEM = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEowIBAAKCAQEA7bq\n-----END RSA PRIVATE KEY-----"
# Assembled here, so that no scanner takes them for real.
SECRETS = {
    "AWS": "AKIA" + "IOSFODNN7EXAMPLE",
    "GitHub": "ghp_" + "a1B2" * 9,
    "GitHub, fine-grained": "github_pat_" + "11AB22cd" * 5,
    "GitLab": "glpat-" + "x1Y2z3W4-" * 3,
    "Slack": "xoxb-" + "123456789012-abcdefGHIJ",
    "OpenAI": "sk-" + "proj-a1B2c3D4e5F6g7H8i9J0",
    "Google": "AIza" + "Sy-" + "a1B2c3D4" * 4,
    "Stripe": "sk_live_" + "a1B2c3D4e5F6",
    "Hugging Face": "hf_" + "aB" * 17,
    "JWT": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dozjgNryP4J3jVmN",
    "PEM": PEM,
    "PEM without its end": PEM.partition("\nProc")[0] + "\nMIIEowIBAAKCAQEA7bq\nMIIEowIBAAKCAQEA7bq",
    "Recall": make_key().plain,
}
PLAIN = [
    "Maya drinks her coffee black, without sugar.",
    "Call +46 70 123 45 67, +1 (415) 555-2671 or +491511234567890",
    "ISBN 978-3-16-148410-0 and 9780306406157",
    "At 2026-03-02T12:00:00Z, that is 1772452800000 or 20260302120000",
    "Install left-pad@1.2.3, ask @maya, or meet @ noon",
    "The ticket 4111111111111112 and the order 1234567812345670",
    "Memory 019a8b2c-7d4e-4111-8123-446655440000",
    "The task-management-and-scheduling-system uses sk-learn-style-pipelines-everywhere",
    "password: required; the secret is patience; token: see the manual; api key = none",
    "DE00 3704 0044 0532 0130 00 has wrong check digits, and XX12 is no country",
    "Numbers: 4 12 19 22 35 41 48 55 61, 3.14159265358979",
    "[e-mail] and [card number] and [key] stay what they are",
    "東京 🎉 \u200b\u202e",
    "",
]


@pytest.mark.parametrize("kind", SECRETS)
def test_keys_of_known_shapes_are_redacted_whole(kind: str) -> None:
    text, found = redact_text(f"It is {SECRETS[kind]}\nso keep it")
    assert text == "It is [key]\nso keep it"
    assert found == {"key": 1}


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("password=Xk29!fmQz7", "password=[key]"),
        ("DB_PASSWORD: 'Xk29!fmQz7'.", "DB_PASSWORD: '[key]'."),
        ('{"api_key": "9f8e7d6c5b4a3921"}', '{"api_key": "[key]"}'),
        ("The password is hunter2hunter2.", "The password is [key]."),
        ("Authorization: Bearer a1b2c3d4e5f6", "Authorization: Bearer [key]"),
        ("client_secret := q9w8e7r6t5y4", "client_secret := [key]"),
        ("postgres://maya:hunter2@db.example.com:5432/recall", "postgres://maya:[key]@db.example.com:5432/recall"),
    ],
)
def test_what_is_called_a_password_and_looks_like_one_is_redacted(text: str, left: str) -> None:
    assert redact_text(text)[0] == left


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4222222222222",
        "5500\u00a00000\u00a00000\u00a00004",
        "2221000000000009",
        "3782 822463 10005",
        "3056 930902 5904",
        "6011 1111 1111 1117",
        "3530111333300000",
        "6200000000000005",
    ],
)
def test_card_numbers_are_redacted_however_they_are_grouped(number: str) -> None:
    assert redact_text(f"Pay with {number}, please") == ("Pay with [card number], please", Counter({"card number": 1}))


def test_two_cards_side_by_side_and_a_card_after_a_date_are_found() -> None:
    text = "2026 4111 1111 1111 1111 5500 0000 0000 0004 123"
    assert redact_text(text)[0] == "2026 [card number] [card number] 123"
    assert redact_text("+4111111111111111")[0] == "+[card number]"


@pytest.mark.parametrize("iban", ["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19", "NO93 8601 1117 947"])
def test_account_numbers_are_redacted_whatever_follows(iban: str) -> None:
    assert redact_text(f"To {iban} EUR 100, {iban}.")[0] == "To [account number] EUR 100, [account number]."


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Mail maya.l+news@mail.example.co.uk.", "Mail [e-mail]."),
        ("<mailto:maya@example.com>", "<mailto:[e-mail]>"),
        ("a@b@example.org", "a@[e-mail]"),
        ("jörg@müller.de, 山@例え.テスト", "[e-mail], [e-mail]"),
        ("x@example.com.1", "[e-mail].1"),
    ],
)
def test_addresses_are_redacted_and_what_stands_around_them_stays(text: str, left: str) -> None:
    assert redact_text(text)[0] == left


@pytest.mark.parametrize("text", PLAIN)
def test_a_text_without_secrets_stays_to_the_letter(text: str) -> None:
    assert redact_text(text) == (text, Counter())


NETWORKS = [("4", 16), ("4", 13), ("4", 19), ("55", 16), ("2221", 16), ("37", 15), ("62", 17)]


@st.composite
def card_numbers(draw: st.DrawFn) -> str:
    """Valid card numbers, in groups of four or in one piece."""
    start, length = draw(st.sampled_from(NETWORKS))
    rest = draw(st.text("0123456789", min_size=length - len(start) - 1, max_size=length - len(start) - 1))
    number = next(start + rest + last for last in "0123456789" if check(start + rest + last))
    return group_digits(number, draw(st.sampled_from(["", " ", "-"])))


def check(digits: str) -> bool:
    """The Luhn check, implemented differently."""
    doubled = [int(d) * (1 + (place % 2)) for place, d in enumerate(reversed(digits))]
    return sum(value - 9 * (value > 9) for value in doubled) % 10 == 0


def group_digits(digits: str, blank: str) -> str:
    """Groups of four as on a card; a last group that is too short joins the previous one."""
    parts = [digits[at : at + 4] for at in range(0, len(digits), 4)]
    if len(parts[-1]) < 3:
        parts[-2:] = ["".join(parts[-2:])]
    return blank.join(parts)


around = st.text(st.characters(exclude_categories=["Nd", "Nl", "No", "Cs"], exclude_characters="+"), max_size=20)


@given(before=around, number=card_numbers(), after=around)
def test_no_card_number_survives(before: str, number: str, after: str) -> None:
    assert number not in redact_text(f"{before} {number} {after}")[0]


@settings(max_examples=examples(15, fuzz=40))  # hypothesis is slow to generate addresses
@given(before=around, address=st.emails(), after=around)
def test_no_address_survives(before: str, address: str, after: str) -> None:
    left, found = redact_text(f"{before} {address} {after}")
    assert address not in left
    assert found["e-mail"] >= 1


pieces = st.lists(st.sampled_from([*SECRETS.values(), "token=", "a@b.co", "4111111111111111", " ", "1", "x"]))


@given(pieces.map("".join) | st.text())
def test_redacting_twice_is_redacting_once(text: str) -> None:
    once = redact_text(text)[0]
    assert redact_text(once) == (once, Counter())


ENDLESS = [
    "a", "1", "1 ", "4111 ", "4111111111111111", "a@", "a.", "a@a.", "@", "a@b.co", "-----BEGIN PRIVATE KEY-----", "-",
    "eyJ-", "-eyJ", "eyJaaaaaaaa.", "sk-", "sk-a", "xoxb-", "rk_", "AKIA", "token=", "token: ", "password is ", "://",
    "://a:", "DE89", "DE89 ", "A1 ", "[key]", "019a8b2c-7d4e-7abc-8123-446655440000 ", "\n",
]  # fmt: skip


def seconds_for(text: str) -> float:
    """CPU seconds spent on a text."""
    began = time.process_time()
    redact_text(text)
    return time.process_time() - began


@pytest.mark.parametrize("piece", ENDLESS)
def test_an_adversarial_text_takes_linear_time(piece: str) -> None:
    assert seconds_for(piece * (100_000 // len(piece))) < 2.0  # a quadratic pattern takes minutes


def test_a_megabyte_takes_seconds() -> None:
    assert seconds_for("".join(piece * 700 for piece in ENDLESS) * 5) < 10.0


def test_every_text_of_a_memory_is_redacted_and_the_callers_names_stay() -> None:
    key, mail = SECRETS["OpenAI"], "maya@example.com"
    new = NewMemory(
        content=f"Her address is {mail}",
        subject=mail,
        predicate=f"has {key}",
        object=mail,
        evidence=f"Maya: {mail}",
        source=mail,
        entities=(mail, "Maya"),
        tags=(mail,),
        user=mail,
        session=mail,
        utterances=(Utterance("direct"),),
        logprobs=(-0.1,),
        importance=0.7,
        metadata={"deep": [{mail: key}, 4111111111111111, 7, True, None], "a@b.co": 1, "c@d.co": 2},
    )
    clean = redact_memory(new)
    assert (clean.content, clean.evidence) == ("Her address is [e-mail]", "Maya: [e-mail]")
    assert (clean.subject, clean.predicate, clean.object, clean.source) == ("[e-mail]", "has [key]", *["[e-mail]"] * 2)
    assert (clean.entities, clean.tags) == (("[e-mail]", "Maya"), ("[e-mail]",))
    assert clean.metadata == {
        "deep": [{"[e-mail]": "[key]"}, "[card number]", 7, True, None],
        "[e-mail]": 1,
        "[e-mail] 2": 2,
    }
    assert (clean.user, clean.session, clean.utterances, clean.logprobs) == (mail, mail, new.utterances, new.logprobs)
    assert redact_memory(clean) is clean


def test_a_full_column_stays_within_its_length() -> None:
    full = "a@b.co " * 42 + "a@b.co"
    assert len(full) == 300
    assert len(redact_memory(NewMemory(content="x", subject=full)).subject) == 300


def test_a_turn_is_redacted_before_it_is_stored() -> None:
    fields = {
        "text": "I am at maya@example.com",
        "speaker": "maya@example.com",
        "metadata": {"from": "maya@example.com"},
    }
    (turn,) = redact_conversation(Conversation(session="monday", turns=[NewTurn(role="user", **fields)])).turns
    assert (turn.text, turn.speaker, turn.metadata) == ("I am at [e-mail]", "[e-mail]", {"from": "[e-mail]"})


def test_a_card_and_an_account_are_known_by_their_check_digits() -> None:
    assert not is_card("4111111111111112")
    assert not is_card("9780306406157")
    assert mod_97("DE88370400440532013000") != 1
    assert len(IBAN_LENGTHS) > 70
    assert redact_text(str(uuid4()))[1] == {}
