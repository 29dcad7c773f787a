"""Which memory supports a claim, how far, and what is missing otherwise."""

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

MAX_JUDGED_BASES = 3  # per claim: those that share most of its words
VERDICTS: tuple[Grounding, ...] = ("supported", "partial", "unsupported")  # the best first

NEGATION = "negation"  # as scoring.contradiction calls it

_VALUES = (numbers, dates, versions)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class Basis:
    """A stored memory or a given text that an answer may be based on."""

    content: str
    id: UUID | None = None
    subject: str = ""

    @property
    def text(self) -> str:
        """The content, preceded by its subject if it does not name it."""
        named = not self.subject or self.subject.casefold() in self.content.casefold()
        return self.content if named else f"{self.subject}: {self.content}"


@dataclass(frozen=True)
class ClaimSupport:
    """A claim, the memory that supports it best, and how far."""

    claim: Claim
    verdict: Grounding
    basis: Basis | None = None  # none if no memory shares a word with it
    why: str = ""  # what is missing

    @property
    def supported(self) -> bool:
        """Whether all of it is supported; partial support does not count (ours: the paper has no partial)."""
        return self.verdict == "supported"

    @property
    def shared_stems(self) -> set[str]:
        """The word stems that claim and memory have in common."""
        return stems(self.claim.text) & stems(self.basis.text) if self.basis else set()


def judge_claims(
    claims: Sequence[Claim], bases: Sequence[Basis], judge: Judge, registry: EntityRegistry
) -> list[ClaimSupport]:
    """Judge every claim against the closest memories, and keep the best verdict of each."""
    closest = [(claim, closest_bases(claim, bases)) for claim in claims]
    verdicts = iter(judge.grounding([(claim.text, basis.text) for claim, chosen in closest for basis in chosen]))
    return [best_support(claim, [(basis, next(verdicts)) for basis in chosen], registry) for claim, chosen in closest]


def closest_bases(claim: Claim, bases: Sequence[Basis]) -> list[Basis]:
    """The memories that share most words with a claim; ties in their order."""
    claim_stems = stems(claim.text)
    shares = {index: share(claim_stems, stems(basis.text)) for index, basis in enumerate(bases)}
    order = sorted((index for index, shared in shares.items() if shared), key=lambda index: (-shares[index], index))
    return [bases[index] for index in order[:MAX_JUDGED_BASES]]


def best_support(claim: Claim, verdicts: Sequence[tuple[Basis, Grounding]], registry: EntityRegistry) -> ClaimSupport:
    """The best of some verdicts; a judge alone cannot support a claim to which a rule objects."""
    supports = [_support(claim, basis, verdict, registry) for basis, verdict in verdicts]
    if not supports:
        return ClaimSupport(claim, "unsupported", why="no memory mentions it")
    return min(supports, key=lambda support: VERDICTS.index(support.verdict))


def _support(claim: Claim, basis: Basis, verdict: Grounding, registry: EntityRegistry) -> ClaimSupport:
    """A verdict, lowered to partial if a rule objects."""
    rule_objections = objections(claim, basis, registry)
    if verdict == "supported" and rule_objections:
        verdict = "partial"
    if verdict == "supported":
        return ClaimSupport(claim, verdict, basis)
    return ClaimSupport(claim, verdict, basis, "; ".join(rule_objections or _reasons(claim, basis)))


def objections(claim: Claim, basis: Basis, registry: EntityRegistry) -> list[str]:
    """Why a memory cannot support a claim, whatever the judge says: missing names or values, and conflicts."""
    basis_stems = stems(basis.text)
    differences = [
        f"it differs: {conflict}"
        for conflict in _conflicts(claim, basis)
        if conflict != NEGATION or _is_denial(claim, basis)
    ]
    return [*_missing_names(claim, basis, basis_stems, registry), *(differences or _missing_values(claim, basis))]


def _missing_names(claim: Claim, basis: Basis, basis_stems: set[str], registry: EntityRegistry) -> Iterator[str]:
    """The names of a claim that a memory lacks; one in the first person need not name its speaker."""
    if SPEAKER in people_in(basis.text):
        return
    known = {match.entity_id for match in entity_matches(basis.text, registry)}
    for name, entity in claim.names.items():
        if not stems(name) & basis_stems and entity not in known:
            yield f"it does not name {name}"
    if claim.possible_name and not stems(claim.possible_name) & basis_stems:
        yield f"it does not mention “{claim.possible_name}”"


def _missing_values(claim: Claim, basis: Basis) -> list[str]:
    """The numbers, dates and versions of a claim that a memory does not state."""
    missing = {value for find in _VALUES for value in find(normalize(claim.text)) - find(normalize(basis.text))}
    return [f"it does not state {', '.join(sorted(missing))}"] if missing else []


def _is_denial(claim: Claim, basis: Basis) -> bool:
    """Whether one denies the other in the same words; otherwise the negation may be about something else."""
    same = share(stems(claim.text), stems(basis.text)) >= SUPPORTED_FROM
    return same and grounding(claim.text, basis.text) == "unsupported"


def _reasons(claim: Claim, basis: Basis) -> list[str]:
    """The likely reasons of a judge: a negation, or words that the memory lacks."""
    if NEGATION in _conflicts(claim, basis):
        return [f"it differs: {NEGATION}"]
    known = stems(basis.text)
    missing = [word for word in _WORD.findall(claim.text) if (stem := stems(word)) and not stem & known]
    return [f"it does not mention {', '.join(f'“{word}”' for word in dict.fromkeys(missing))}"] if missing else []


def _conflicts(claim: Claim, basis: Basis) -> tuple[str, ...]:
    return conflicts(FactStatement(claim.text), FactStatement(basis.text))
