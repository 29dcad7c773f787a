"""Which memory bears a claim out, how far, and what is missing where it does not."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from memories.guards.claims import Claim
from memories.providers.judge import Judge
from memories.providers.rules_judge import SUPPORTED_FROM, grounding, share, stems
from memories.text.entity_mentions import entity_matches
from memories.text.entity_registry import EntityRegistry
from memories.text.third_person import SPEAKER, people_in
from scoring.contradiction import FactStatement, conflicts, dates, numbers, versions
from scoring.dedup import normalize
from scoring.evidence import Grounding

CONSIDERED = 3  # memories that are put to the judge for each claim: those that share most of its words
VERDICTS: tuple[Grounding, ...] = ("supported", "partial", "unsupported")  # the best first

DENIED = "negation"  # as scoring.contradiction calls it

_VALUES = (numbers, dates, versions)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Basis:
    """Something an answer may rest on: a stored memory, or a text that was given."""

    content: str
    id: UUID | None = None
    subject: str = ""

    @property
    def text(self) -> str:
        """What it says, and of whom where its words leave that out."""
        told = not self.subject or self.subject.casefold() in self.content.casefold()
        return self.content if told else f"{self.subject}: {self.content}"


@dataclass(frozen=True)
class Support:
    """A claim, the memory that bears it out best, and how far."""

    claim: Claim
    verdict: Grounding
    basis: Basis | None = None  # none where no memory shares a word with it
    why: str = ""  # what is missing

    @property
    def supported(self) -> bool:
        """Whether all of it is borne out; what is so only in part is not (ours: the paper knows no part)."""
        return self.verdict == "supported"

    @property
    def shared(self) -> set[str]:
        """The beginnings of the words that claim and memory have in common."""
        return stems(self.claim.text) & stems(self.basis.text) if self.basis else set()


def supports(claims: Sequence[Claim], bases: Sequence[Basis], judge: Judge, registry: EntityRegistry) -> list[Support]:
    """Put every claim to the judge beside the memories nearest to it, and keep the best verdict of each."""
    asked = [(claim, nearest(claim, bases)) for claim in claims]
    pairs = [(claim.text, basis.text) for claim, some in asked for basis in some]
    verdicts = iter(judge.grounding(pairs))
    return [best(claim, [(basis, next(verdicts)) for basis in some], registry) for claim, some in asked]


def nearest(claim: Claim, bases: Sequence[Basis]) -> list[Basis]:
    """The memories that share most words with a claim; of equals, those that came first."""
    wanted = stems(claim.text)
    shares = {place: share(wanted, stems(basis.text)) for place, basis in enumerate(bases)}
    order = sorted((place for place, shared in shares.items() if shared), key=lambda place: (-shares[place], place))
    return [bases[place] for place in order[:CONSIDERED]]


def best(claim: Claim, judged: Sequence[tuple[Basis, Grounding]], registry: EntityRegistry) -> Support:
    """The best of some verdicts; a judge's word alone does not carry a claim to which a rule objects."""
    found = [_held(claim, basis, verdict, registry) for basis, verdict in judged]
    if not found:
        return Support(claim, "unsupported", why="no memory speaks of it")
    return min(found, key=lambda one: VERDICTS.index(one.verdict))


def _held(claim: Claim, basis: Basis, verdict: Grounding, registry: EntityRegistry) -> Support:
    """One verdict, held against what rules see: names, numbers, dates, roles."""
    against = objections(claim, basis, registry)
    if verdict == "supported" and against:
        verdict = "partial"
    if verdict == "supported":
        return Support(claim, verdict, basis)
    return Support(claim, verdict, basis, "; ".join(against or _reasons(claim, basis)))


def objections(claim: Claim, basis: Basis, registry: EntityRegistry) -> list[str]:
    """Why a memory cannot carry a claim, whoever judges it: whom or what it leaves out, and where it differs."""
    heard = stems(basis.text)
    differs = [f"it differs: {one}" for one in _conflicts(claim, basis) if one != DENIED or _denied(claim, basis)]
    return [*_unnamed(claim, basis, heard, registry), *(differs or _untold(claim, basis))]


def _unnamed(claim: Claim, basis: Basis, heard: set[str], registry: EntityRegistry) -> Iterator[str]:
    """The names of a claim under which a memory knows nobody; who speaks of themselves does not say their name."""
    if SPEAKER in people_in(basis.text):
        return
    known = {one.entity_id for one in entity_matches(basis.text, registry)}
    for name, entity in claim.names.items():
        if not stems(name) & heard and entity not in known:
            yield f"it does not name {name}"
    if claim.about and not stems(claim.about) & heard:
        yield f"it says nothing of “{claim.about}”"


def _untold(claim: Claim, basis: Basis) -> list[str]:
    """The numbers, dates and versions of a claim that a memory does not tell."""
    missing = {one for read in _VALUES for one in read(normalize(claim.text)) - read(normalize(basis.text))}
    return [f"it does not tell {', '.join(sorted(missing))}"] if missing else []


def _denied(claim: Claim, basis: Basis) -> bool:
    """Whether one denies what the other says in the same words; another denial may be about something else."""
    same = share(stems(claim.text), stems(basis.text)) >= SUPPORTED_FROM
    return same and grounding(claim.text, basis.text) == "unsupported"


def _reasons(claim: Claim, basis: Basis) -> list[str]:
    """What a judge may have seen: a denial, or words that the memory does not have."""
    if DENIED in _conflicts(claim, basis):
        return [f"it differs: {DENIED}"]
    heard = stems(basis.text)
    missing = [word for word in _WORD.findall(claim.text) if (begins := stems(word)) and not begins & heard]
    return [f"it says nothing of {', '.join(f'“{word}”' for word in dict.fromkeys(missing))}"] if missing else []


def _conflicts(claim: Claim, basis: Basis) -> tuple[str, ...]:
    return conflicts(FactStatement(claim.text), FactStatement(basis.text))
