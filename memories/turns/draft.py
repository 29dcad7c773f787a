"""What is made of a conversation before its namespace is locked: places, memories, and the vectors of every route."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.conf import settings

from memories.language.loading import load
from memories.models import Namespace, Turn
from memories.models.choices import Route
from memories.providers.extractor import Context, extractor
from memories.turns.conversation import Conversation, Placed, clean, placed
from memories.turns.embedded import Embedded
from memories.turns.exchanges import Exchange, exchanges, in_context, turn_before
from memories.turns.facets import by_turn, facets, read_of, stored_of
from memories.writing.new_memory import NewMemory
from memories.writing.preparing import Prepared, prepared

HEARD_BEFORE = 4  # turns that an extractor is shown beside the new ones


@dataclass(frozen=True, eq=False)
class Draft:
    """A conversation with everything that is known of it without the lock."""

    placed: Placed
    embedder: str
    exchanges: Sequence[Exchange]
    facts: Prepared | None
    routes: dict[UUID, dict[Route, str]]  # of each exchange that changes, by its first turn
    contexts: Sequence[str]  # of each fact, with the turn before it
    embedded: Embedded


def drafted(namespace: Namespace, said: Conversation, *, extract: bool) -> Draft:
    """Place the turns, read memories out of the new ones, embed what every route needs."""
    place = placed(namespace, clean(said) if namespace.redacts else said, namespace.now)
    turns = [*place.stored, *place.fresh]
    context = Context(said.session, said.user, place.session.agent, place.stored[-HEARD_BEFORE:])
    # What is not to be remembered is read by rule, for the facets alone.
    news = extractor(settings.RECALL_EXTRACTOR if extract else "rules").extract(place.fresh, context)
    before = turn_before(turns)
    contexts = [with_before(new, before) for new in news] if extract else []
    cut = exchanges(turns)
    routes = routes_of(namespace, cut, place.fresh, news, context)
    embedded = Embedded.of(namespace.embedder, [*contexts, *(text for one in routes.values() for text in one.values())])
    facts = prepared(namespace, news, load(namespace)) if extract and news else None
    return Draft(place, namespace.embedder, cut, facts, routes, contexts, embedded)


def routes_of(
    namespace: Namespace, cut: Sequence[Exchange], fresh: Sequence[Turn], news: Sequence[NewMemory], context: Context
) -> dict[UUID, dict[Route, str]]:
    """The texts of every exchange that new turns change: they belong to it, or are what the user says next."""
    new = {turn.id for turn in fresh}
    found: dict[UUID, dict[Route, str]] = {}
    for place, one in enumerate(cut):
        texts: dict[Route, str] = {}
        if any(turn.id in new for turn in one.turns):
            old = [turn for turn in one.turns if turn.id not in new]
            heard = read_of(old, stored_of(namespace, [turn.id for turn in old]), context) if old else []
            texts = one.texts() | facets([*heard, *by_turn(news, [turn.id for turn in one.turns])])
        following = next((after for after in cut[place + 1 :] if after.opening.strip()), None)
        if following and following.first.id in new:
            texts[Route.NEXT_USER] = following.opening
        if texts:
            found[one.first.id] = texts
    return found


def with_before(new: NewMemory, before: dict[UUID, Turn | None]) -> str:
    """A memory with the turn that was said before it."""
    turn = next((before.get(said.turn) for said in new.said if said.turn), None)
    return in_context(turn, new.content)
