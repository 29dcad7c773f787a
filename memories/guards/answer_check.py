"""An answer held against the memories it was made from."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from memories.guards.claims import claims
from memories.guards.support import Basis, Support, supports
from memories.models import Namespace
from memories.providers.judge import judge
from memories.text.registry_cache import load_registry
from scoring import faithfulness as formulas


@dataclass(frozen=True)
class Check:
    """What became of each claim of an answer, and what that amounts to."""

    claims: Sequence[Support]
    bases: Sequence[Basis]
    judge: str

    @property
    def supported(self) -> int:
        """How many claims are borne out."""
        return sum(one.supported for one in self.claims)

    @property
    def unsupported(self) -> int:
        """How many are not, or only in part."""
        return len(self.claims) - self.supported

    @property
    def critical(self) -> int:
        """How many of those are critical."""
        return sum(bool(one.claim.critical) for one in self.claims if not one.supported)

    @property
    def faithfulness(self) -> float:
        """The share of claims that are borne out."""
        return formulas.faithfulness(self.supported, len(self.claims))

    @property
    def risk(self) -> formulas.Risk:
        """How much harm the others may do."""
        return formulas.risk(self.unsupported, self.critical)


def check(namespace: Namespace, answer: str, bases: Sequence[Basis]) -> Check:
    """Cut an answer into claims and find for each the memory that bears it out; nothing is stored."""
    registry, asked = load_registry(namespace), judge(settings.RECALL_JUDGE)
    return Check(supports(claims(answer, registry), bases, asked, registry), bases, asked.name)
