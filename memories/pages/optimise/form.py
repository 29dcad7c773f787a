"""What to search, as a form: read by the rules of the API, and kept as it was typed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Count, Q
from django.http import QueryDict
from rest_framework.exceptions import ValidationError

from memories.api.optimise import OptimiseSerializer, setting_of, wish_of
from memories.api.serializers import checked
from memories.models import JudgementSet, Namespace
from memories.models.choices import Part
from memories.pages.lab.address import first, ways
from memories.pages.sliders import Group, groups
from memories.retrieval.query import Setting
from memories.retrieval.settings import said as ranked_by
from memories.tuning import optimising
from memories.tuning.evaluating import MAIN, NAMES
from memories.tuning.optimising import Wish
from memories.tuning.pareto import AGAINST, DIVERSITY

FIELDS = {
    "set": "",
    "by": "",
    "metric": MAIN,
    "price": "0",
    "against": DIVERSITY,
    "settings": str(optimising.SETTINGS),
    "seconds": str(optimising.SECONDS),
}
NUMBERS = {"price": float, "settings": int, "seconds": int}
USUAL = "Fusion"  # the group that is searched unless somebody says otherwise
MOST_SETS = 50


def filled(wish: Wish) -> QueryDict:
    """The form as somebody would have filled it in for a search."""
    sent, setting = QueryDict(mutable=True), wish.setting
    objective = {"metric": wish.objective.metric, "price": f"{wish.objective.price:g}", "against": wish.against}
    sent.update({"set": str(wish.set), "by": setting.by, **objective})
    sent.update({"settings": str(wish.settings), "seconds": str(wish.seconds)})
    sent.setlist("move", list(wish.move))
    return sent


@dataclass(frozen=True)
class Form:
    """A wish as it was typed, and what is wrong with it by field."""

    namespace: Namespace
    sent: QueryDict
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def typed(self) -> dict[str, str]:
        """Every field as it stands."""
        return {name: self.sent.get(name, usual).strip() for name, usual in FIELDS.items()}

    def body(self) -> dict[str, Any]:
        """The wish as the API would be asked it."""
        said: dict[str, Any] = {"move": self.sent.getlist("move"), **ranked_by(self.typed["by"])}
        for name in ("set", "metric", "against"):
            said[name] = self.typed[name]
        for name, read in NUMBERS.items():
            try:
                said[name] = read(self.typed[name])
            except ValueError:
                said[name] = self.typed[name]
        return said

    def wish(self) -> Wish:
        """What is to be searched (ValidationError)."""
        if not self.sent.getlist("move"):
            raise ValidationError({"move": ["must name at least one parameter; got none"]})
        return wish_of(self.namespace, checked(OptimiseSerializer(data=self.body())))

    def context(self) -> dict[str, Any]:
        """What the form offers."""
        setting, problems = self.setting()
        picked = self.sent.getlist("move") if "move" in self.sent else usual_moves(setting)
        return {
            "typed": self.typed,
            "problems": {**problems, **self.problems},
            "sets": sets(self.namespace),
            "ways": ways(self.namespace),
            "metrics": NAMES.items(),
            "against": AGAINST,
            "most": {"settings": optimising.MOST_SETTINGS, "seconds": optimising.MOST_SECONDS},
            "groups": offered(setting),
            "picked": picked,
            "ranked_by": setting.system.name,
        }

    def setting(self) -> tuple[Setting, dict[str, str]]:
        """From where the search would start; what is served where the address names something else."""
        try:
            return setting_of(self.namespace, ranked_by(self.typed["by"]), {}), {}
        except (ValidationError, KeyError):
            wrong = f"must be a system or a profile of this namespace; got {self.typed['by']!r}"
            return setting_of(self.namespace, {}, {}), {"by": wrong}


def told(error: ValidationError) -> dict[str, str]:
    """The first refusal of each field."""
    names = {"system": "by", "profile": "by", "params": "by"}
    detail: Any = error.detail
    return {names.get(str(name), str(name)): first(wrong) for name, wrong in dict(detail).items()}


def offered(setting: Setting) -> list[Group]:
    """The parameters that can be searched, group by group, as they stand."""
    system, movable = setting.system, set(optimising.movable(setting))
    all = groups(system.params, dict(setting.given), dict(setting.given))
    return [Group(group.name, some) for group in all if (some := [one for one in group.sliders if one.name in movable])]


def usual_moves(setting: Setting) -> list[str]:
    """The parameters that are searched unless somebody says otherwise: the weights, or all where none are."""
    declared = setting.system.params.declared()
    movable = optimising.movable(setting)
    return [name for name in movable if declared[name].group == USUAL] or movable


def sets(namespace: Namespace) -> Sequence[JudgementSet]:
    """The judgement sets with how many queries each part has."""
    counts = {part.value: Count("queries", filter=Q(queries__part=part)) for part in Part}
    return list(JudgementSet.objects.within(namespace).annotate(**counts).order_by("name")[:MOST_SETS])
