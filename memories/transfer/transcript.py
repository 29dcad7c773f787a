"""A pasted conversation as turns: lines that begin with a speaker, or a JSON list of messages."""

import re
from collections.abc import Mapping
from typing import Any

from memories.contracts.json_values import InvalidJsonError, parse_json

SPEAKER = re.compile(r"^\s*(?:\[[^\]\n]{1,40}\]\s*)?([^\W\d_][\w .'’-]{0,39}?)\s*:\s+(?=\S)")
ROLES = {"user": "user", "human": "user", "me": "user", "you": "user"}
ASSISTANTS = ("assistant", "ai", "bot", "agent", "chatgpt", "claude", "gemini", "copilot")


class UnreadableTranscriptError(ValueError):
    """A text that holds no turns; says what is allowed and what came."""


def parse_transcript(text: str) -> list[dict[str, Any]]:
    """The turns of a text, each with role and text, and a speaker if it has a name."""
    text = text.strip()
    if text.startswith(("[{", "{", "[\n")):
        return turns_of_messages(text)
    turns: list[dict[str, Any]] = []
    for line in text.splitlines():
        if found := SPEAKER.match(line):
            turns.append(named_turn(found[1], line[found.end() :].strip()))
        elif turns:
            turns[-1]["text"] = f"{turns[-1]['text']}\n{line}".strip()
        elif line.strip():
            raise UnreadableTranscriptError(
                f"must begin each turn with its speaker, as in “User: …”; got “{line.strip()[:60]}”"
            )
    if not turns:
        raise UnreadableTranscriptError("must hold at least one turn; got none")
    return turns


def named_turn(name: str, text: str) -> dict[str, Any]:
    """A turn by who speaks: a role, or a person with a name."""
    lower = name.casefold()
    if lower in ASSISTANTS:
        return {"role": "assistant", "text": text}
    return {"role": ROLES.get(lower, "user"), "text": text} | ({} if lower in ROLES else {"speaker": name})


def turns_of_messages(text: str) -> list[dict[str, Any]]:
    """The turns of a JSON list of messages, or of an object that holds one."""
    try:
        value = parse_json(text.encode())
    except InvalidJsonError as error:
        raise UnreadableTranscriptError(str(error)) from error
    messages = value.get("messages", value.get("turns", ())) if isinstance(value, Mapping) else value
    turns = [turn for message in messages if isinstance(message, Mapping) and (turn := turn_of_message(message))]
    if not turns:
        raise UnreadableTranscriptError('must hold messages like {"role": "user", "content": "…"}; got none')
    return turns


def turn_of_message(message: Mapping[str, Any]) -> dict[str, Any] | None:
    """A message as a turn; none without a text."""
    content = message.get("content", message.get("text"))
    if isinstance(content, list):  # parts of a message
        content = "\n".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    if not isinstance(content, str) or not content.strip():
        return None
    turn = named_turn(str(message.get("role", message.get("speaker", "user"))), content.strip())
    name = message.get("name") or message.get("speaker")
    return turn | ({"speaker": name} if isinstance(name, str) and name.casefold() not in ROLES else {})
