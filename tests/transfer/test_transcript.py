"""A pasted conversation becomes turns."""

import json

import pytest

from memories.transfer.transcript import UnreadableTranscriptError, parse_transcript


def test_each_line_with_a_speaker_begins_a_turn_and_others_continue_it() -> None:
    text = "User: I moved to Lyon\nin May.\n\nAssistant: Noted.\nAda Byron: Me too: finally\n[10:04] Ada Byron: yes"
    assert parse_transcript(text) == [
        {"role": "user", "text": "I moved to Lyon\nin May."},
        {"role": "assistant", "text": "Noted."},
        {"role": "user", "text": "Me too: finally", "speaker": "Ada Byron"},
        {"role": "user", "text": "yes", "speaker": "Ada Byron"},
    ]


@pytest.mark.parametrize("wrapped", [False, True])
def test_messages_as_json_are_turns(wrapped: bool) -> None:
    messages = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": [{"type": "text", "text": "Hi"}, {"type": "image"}]},
        {"role": "user", "name": "Ada", "content": "Bye"},
        {"role": "tool", "content": None},
    ]
    text = json.dumps({"messages": messages} if wrapped else messages)
    assert parse_transcript(text) == [
        {"role": "user", "text": "Hello"},
        {"role": "assistant", "text": "Hi"},
        {"role": "user", "text": "Bye", "speaker": "Ada"},
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("just a note", "must begin each turn with its speaker, as in “User: …”; got “just a note”"),
        ("", "must hold at least one turn; got none"),
        ("[{", "must be JSON"),
        ("[{}]", "must hold messages"),
    ],
)
def test_a_text_without_turns_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(UnreadableTranscriptError, match=message):
        parse_transcript(text)
