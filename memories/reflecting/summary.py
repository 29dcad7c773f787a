"""What a summary of alike memories says, and on what it rests."""

from collections.abc import Sequence

from memories.contracts.new_memory import NewMemory, Utterance
from memories.models import Memory
from memories.models.choices import MemoryType
from memories.providers.rules_judge import stems

TAG = "summary"
SOURCE = "consolidation"
QUOTED, LONGEST = 4, 1_000  # memories and letters in one summary; the middle one is told whole
NEW_WORDS = 2  # that a further memory must add to be told


def summary_of(middle: Memory, members: Sequence[Memory]) -> NewMemory:
    """A memory that tells what its members tell, with all their sources."""
    latest = max(one.happened_at or one.created_at for one in members)
    return NewMemory(
        content=text_of(middle, members),
        type="" if middle.type_uncertain else MemoryType(middle.type),
        subject=middle.subject_surface,
        utterances=said_by(members),
        model=middle.extractor_model,
        logprobs=() if middle.extractor_logprob is None else (middle.extractor_logprob,),
        tags=(TAG,),
        kind=middle.kind,
        user=middle.user,
        source=SOURCE,
        importance=max(one.importance for one in members),
        quality=middle.quality,
        provenance_depth=max(one.provenance_depth for one in members) + 1,
        happened_at=latest,
    )


def text_of(middle: Memory, members: Sequence[Memory]) -> str:
    """The text of the middle one, then those that add most to it.

    A summary that only repeated one of its members would stand twice in an answer and tell nothing more.
    """
    told, known = [middle.content.rstrip(". ")], stems(middle.content)
    others = [one for one in members if one.id != middle.id]
    while others and len(told) < QUOTED:
        best = max(others, key=lambda one: (len(stems(one.content) - known), one.id))
        others.remove(best)
        fits = len("; ".join([*told, best.content])) <= LONGEST
        if fits and len(stems(best.content) - known) >= NEW_WORDS:
            told.append(best.content.rstrip(". "))
            known |= stems(best.content)
    return f"{'; '.join(told)} ({len(members)} memories)"


def said_by(members: Sequence[Memory]) -> tuple[Utterance, ...]:
    """Every turn that said a member, by the strongest of its levels; what has no turn counts as one source."""
    strongest: dict[Utterance, float] = {}
    levels: dict[object, Utterance] = {}
    for source in (source for one in members for source in one.sources.all()):
        said = Utterance(source.level, source.turn_id)
        if source.strength > strongest.get(levels.get(source.turn_id, said), -1.0):
            levels[source.turn_id] = said
            strongest[said] = source.strength
    return tuple(sorted(levels.values(), key=lambda said: str(said.turn)))
