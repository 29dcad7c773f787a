"""The optimiser: a job that tries settings on the tune part and looks once at the hold-out part."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

import numpy as np

from memories.jobs.starting import start
from memories.jobs.stopping import told_to_stop
from memories.jobs.work import Step, Work
from memories.models import Job, JudgementSet, Namespace
from memories.models.choices import JobKind, Part
from memories.retrieval.query import Setting
from memories.tuning import tracing
from memories.tuning.arrays import Arrays
from memories.tuning.choosing import chosen
from memories.tuning.evaluating import measured
from memories.tuning.holding import arrays
from memories.tuning.objective import Objective, gain, part_of
from memories.tuning.pareto import AGAINST, front, yardstick
from scoring.params import ParamsError
from scoring.searching import Axis, Search, Values
from scoring.systems import SYSTEMS
from scoring.term import Array

SETTINGS, SECONDS = 400, 60  # tried, and spent, unless somebody wants more or less
MOST_SETTINGS, MOST_SECONDS = 5_000, 900
SEED = 1
TELL = 0.3  # seconds between two words of progress
SPREAD = 5  # settings for each parameter before the search closes in, at most a third of all
SHOWN = 300  # points of a chart


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What is to be searched: on which set, from where, by moving what, for how much of which metric."""

    set: UUID
    setting: Setting
    move: tuple[str, ...]
    objective: Objective
    against: str
    settings: int
    seconds: int
    seed: int

    def told(self) -> dict[str, Any]:
        """As a job keeps it; the names that tracing reads mean the same to it."""
        setting = self.setting
        return {
            "set": str(self.set),
            "system": setting.system.name,
            "params": tracing.deciding(setting),
            "given": dict(setting.given),
            "profile": setting.profile,
            "version": setting.version,
            "version_id": str(setting.version_id) if setting.version_id else None,
            "move": list(self.move),
            **asdict(self.objective),
            "against": self.against,
            "settings": self.settings,
            "seconds": self.seconds,
            "seed": self.seed,
        }

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> "Wish":
        """Read what a job keeps."""
        version = UUID(told["version_id"]) if told["version_id"] else None
        return cls(
            set=UUID(told["set"]),
            setting=Setting(SYSTEMS[told["system"]], told["given"], told["profile"], told["version"], version),
            move=tuple(told["move"]),
            objective=Objective(told["metric"], told["price"]),
            against=told["against"],
            settings=told["settings"],
            seconds=told["seconds"],
            seed=told["seed"],
        )

    def under(self, changed: Values) -> Setting:
        """The start with something changed; what is as it was is left to the plans."""
        return Setting(self.setting.system, {**self.setting.given, **self.changed(changed)})

    def changed(self, values: Values) -> dict[str, Any]:
        """What differs from the start."""
        usual = self.usual
        return {name: value for name, value in values.items() if value != usual[name]}

    @property
    def usual(self) -> Mapping[str, Any]:
        """All parameters at the start."""
        return self.setting.system.params.of(dict(self.setting.given)).as_dict()


def movable(setting: Setting) -> list[str]:
    """The parameters that a search may move: those that need no new candidates."""
    declared = setting.system.params.declared()
    return [name for name, one in declared.items() if one.scope == "score"]


def begin(namespace: Namespace, wish: Wish, *, by: str) -> Job:
    """Have a search done, as a job."""
    return start(namespace, JobKind.OPTIMISE, wish.told(), by=by)


class StopError(Exception):
    """Somebody has said that it is enough."""


def ask(work: Work) -> None:
    """Have the queries asked, unless nothing came since they were; what is half asked at a stop is gone."""
    wish = Wish.of(work.job.params)
    judged = JudgementSet.objects.within(work.namespace).get(id=wish.set)
    if "traced_set" not in work.facts and tracing.current(work.namespace, judged, wish.setting):
        return
    whole = tracing.set_of(work, work.job.params)
    try:
        tracing.fill(whole, Heeding(work).moved)
    except StopError:
        whole.delete()
        work.facts["stopped"] = True
        work.moved(0)


class Heeding:
    """A job's progress while it asks, which looks now and then whether somebody says stop."""

    def __init__(self, work: Work) -> None:
        self.work, self.last = work, time.perf_counter()

    def moved(self, done: int, total: int | None = None, **counted: int) -> None:
        """Tell how far it is."""
        if time.perf_counter() - self.last > TELL:
            self.last = time.perf_counter()
            if told_to_stop(self.work.job):
                raise StopError
        self.work.moved(done, total, **counted)


def held(work: Work, wish: Wish) -> Arrays:
    """The arrays of the set."""
    judged = JudgementSet.objects.within(work.namespace).get(id=wish.set)
    traced = tracing.traced(work.namespace, judged, wish.setting)
    assert traced is not None
    return arrays(traced)


def search(work: Work) -> None:
    """Try settings on the tune part until all are tried, time is up or somebody says stop; then choose one."""
    if work.job.result.get("ask", {}).get("stopped"):
        work.facts.update(stopped=True, tried=0)
        return
    wish = Wish.of(work.job.params)
    looked = Looked(work, wish, part_of(held(work, wish), Part.TUNE))
    looked.go()
    work.facts["chosen"] = chosen(wish.changed(looked.search.best[0]), looked.worth, looked.allowed)
    looked.tell()


class Looked:
    """A search under way: what was tried, and what is told of it."""

    def __init__(self, work: Work, wish: Wish, whole: Arrays) -> None:
        self.work, self.wish, self.whole = work, wish, whole
        declared = wish.setting.system.params.declared()
        axes = [Axis(name, declared[name]) for name in wish.move]
        spread = min(SPREAD * len(axes), wish.settings // 3)
        self.search = Search(axes, wish.usual, self.allowed, spread, wish.seed)
        self.other: list[float] = []
        self.improved: list[tuple[int, float]] = []  # after how many settings the best became what
        self.began = time.perf_counter()

    def allowed(self, values: Values) -> bool:
        """Whether a setting breaks no rule under any plan."""
        setting = self.wish.under(values)
        try:
            return all(setting.under(stack.plan) for stack in self.whole.stacks)
        except ParamsError:
            return False

    def worth(self, changed: Values) -> Array:
        """What each query is worth under a change."""
        return self.wish.objective.each(measured(self.whole, self.wish.under(changed)))

    def go(self) -> None:
        """Try one setting after another."""
        beside = yardstick(self.work.namespace, self.whole, self.wish.against)
        last = 0.0
        while len(self.search.tried) < self.wish.settings and self.seconds < self.wish.seconds:
            values = self.search.proposal()
            if values is None:
                break
            found = measured(self.whole, self.wish.under(values))
            worth = self.wish.objective.each(found)
            score = float(worth.mean()) if len(worth) else 0.0
            if not self.improved or score > self.improved[-1][1]:
                self.improved.append((len(self.search.tried) + 1, score))
            self.search.tell(values, score)
            self.other.append(beside(found))
            if self.seconds - last > TELL:
                last = self.seconds
                self.tell()
                if told_to_stop(self.work.job):
                    self.work.facts["stopped"] = True
                    break

    @property
    def seconds(self) -> float:
        """How long it has searched."""
        return time.perf_counter() - self.began

    def tell(self) -> None:
        """Write down how far it is: the best so far and the way there, and what quality costs."""
        tried = len(self.search.tried)
        self.work.facts.update(
            tried=tried,
            seconds=round(self.seconds, 2),
            start=self.search.tried[0][1] if tried else None,
            best=self.search.best[1] if tried else None,
            changed=self.wish.changed(self.search.best[0]) if tried else {},
            improved=self.improved,
            points=self.points(),
        )
        self.work.moved(tried, self.wish.settings)

    def points(self) -> list[dict[str, Any]]:
        """What was tried as quality against the other side: those that nothing beats, and some of the others."""
        quality, other = np.array([score for _, score in self.search.tried]), np.array(self.other)
        best = front(quality, other, AGAINST[self.wish.against][1])
        every = max(1, -(-len(quality) // SHOWN))
        return [
            {
                "quality": round(float(quality[place]), 6),
                "other": round(float(other[place]), 6),
                "front": bool(best[place]),
                **({"changed": self.wish.changed(self.search.tried[place][0])} if best[place] else {}),
            }
            for place in range(len(quality))
            if best[place] or place % every == 0
        ]


def check(work: Work) -> None:
    """Look once at the hold-out part: is what was chosen better there than the start, by more than chance?"""
    if not work.job.result["search"]["tried"]:
        return
    wish, taken = Wish.of(work.job.params), work.job.result["search"]["chosen"]
    whole = held(work, wish)
    for part in (Part.TUNE, Part.HOLDOUT):
        mine = part_of(whole, part)
        before, after = measured(mine, wish.setting), measured(mine, wish.under(taken))
        work.facts[part] = {
            **asdict(gain(wish.objective, before, after)),
            "before": {name: one._asdict() for name, one in before.told().items()},
            "after": {name: one._asdict() for name, one in after.told().items()},
        }
        if part == Part.HOLDOUT:
            work.facts["proven"] = bool(taken) and gain(wish.objective, before, after).proven
    work.moved(1, 1)


STEPS: dict[str, Step] = {"ask": ask, "search": search, "check": check}
