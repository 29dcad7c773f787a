"""What an address of the Tune page says: a judged set, which part of it, what is measured, and what was moved."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict

from memories.models import JudgementSet, Namespace, TracedSet
from memories.models.choices import Part
from memories.pages import sliders
from memories.retrieval.query import Setting
from memories.retrieval.settings import said, setting, with_params
from memories.tuning.evaluating import MAIN, METRICS
from memories.tuning.tracing import traced
from scoring.systems import SYSTEMS

PARTS = {Part.TUNE: "to tune on", Part.HOLDOUT: "held out", "": "all"}


@dataclass(frozen=True)
class State:
    """A setting on its way from where it started, and the set it is measured on."""

    namespace: Namespace
    sets: list[JudgementSet]
    judged: JudgementSet | None
    by: str
    part: str
    metric: str
    start: Setting
    changed: Mapping[str, Any]
    problems: Mapping[str, str]

    @property
    def setting(self) -> Setting:
        """Where it stands now."""
        return with_params(self.start, self.changed)

    def traced(self, setting: Setting) -> TracedSet | None:
        """The set as it was asked for a setting."""
        return traced(self.namespace, self.judged, setting) if self.judged else None

    @property
    def address(self) -> str:
        """The query string of this state: what differs, and nothing else."""
        first = self.sets[0].name if self.sets else ""
        told = {
            "set": self.judged.name if self.judged else first,
            "by": self.by,
            "part": self.part or "all",
            "metric": self.metric,
        }
        usual = {"set": first, "by": "", "part": Part.TUNE, "metric": MAIN}
        differ = {name: value for name, value in told.items() if value != usual[name]}
        return urlencode({**differ, **sliders.address(self.changed)})


def state_of(namespace: Namespace, sent: QueryDict) -> State:
    """Read an address; what is wrong with it is told, and the rest stands."""
    problems: dict[str, str] = {}
    sets = list(JudgementSet.objects.within(namespace).order_by("created_at", "id"))
    judged = next((one for one in sets if sent.get("set") in (one.name, str(one.id))), sets[0] if sets else None)
    if sent.get("set") and judged and sent["set"] not in (judged.name, str(judged.id)):
        problems["set"] = f"must be one of {', '.join(one.name for one in sets)}; got {sent['set']!r}"
    start, by = started(namespace, sent.get("by", ""), problems)
    part = {"all": "", **{one: one for one in Part.values}}.get(sent.get("part", Part.TUNE))
    if part is None:
        problems["part"] = f"must be one of all, {', '.join(Part.values)}; got {sent['part']!r}"
    metric = sent.get("metric", MAIN)
    if metric not in METRICS:
        problems["metric"] = f"must be one of {', '.join(METRICS)}; got {metric!r}"
        metric = MAIN
    usual = start.system.params.of(dict(start.given)).as_dict()
    changed, wrong = ({}, {}) if elsewhere(sent) else sliders.moved(start.system.params, sent, usual)
    return State(
        namespace, sets, judged, by, Part.TUNE if part is None else part, metric, start, changed, {**problems, **wrong}
    )


def elsewhere(sent: QueryDict) -> bool:
    """Whether another start was chosen than that of the sliders on the page: what they say is not meant for it."""
    return sent.get("stood", sent.get("by", "")) != sent.get("by", "")


def started(namespace: Namespace, by: str, problems: dict[str, str]) -> tuple[Setting, str]:
    """The setting to start from: what serves, a system as its paper has it, or a profile's version."""
    try:
        return setting(namespace, **said(by), params={}), by
    except LookupError:
        problems["by"] = f"must be a system ({', '.join(SYSTEMS)}) or a profile with its version; got {by!r}"
        return setting(namespace, params={}), ""
