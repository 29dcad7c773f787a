"""The RRF k sweep on the Calibrate page: its result, or what it still needs."""

from dataclasses import dataclass
from urllib.parse import urlencode

from memories.contracts.number_format import format_number, format_p_value, format_signed
from memories.models import JudgementSet, Namespace
from memories.retrieval.query import Config
from memories.tuning import profile_versions
from memories.tuning.array_cache import cached_arrays
from memories.tuning.judgement_sets import UnknownJudgementSetError, choose_judgement_set
from memories.tuning.measurement import MAIN_METRIC, METRIC_NAMES
from memories.tuning.rrf_sweep import Sweep, sweep_config, sweep_rrf_k
from memories.tuning.sensitivity import RRF_K
from memories.tuning.traced_sets import latest_traced_set


@dataclass(frozen=True)
class RRFKPanel:
    """A sweep of RRF k over a judged set; no sweep if the set is not traced, no set if nothing is judged."""

    judgement_set: JudgementSet | None = None
    config: Config | None = None
    sweep: Sweep | None = None

    @classmethod
    def load(cls, namespace: Namespace) -> "RRFKPanel":
        """The sweep of the namespace's judged set, as far as it was traced."""
        try:
            judgement_set = choose_judgement_set(namespace)
        except UnknownJudgementSetError:
            return cls()
        config = sweep_config(namespace)
        traced = latest_traced_set(namespace, judgement_set, config)
        return cls(judgement_set, config, sweep_rrf_k(cached_arrays(traced), config) if traced else None)

    @property
    def metric(self) -> str:
        """Name of the metric."""
        return METRIC_NAMES[MAIN_METRIC]

    @property
    def headline(self) -> str:
        """The best k, or what is missing to find it."""
        if self.judgement_set is None:
            return "RRF k needs judged queries"
        if self.sweep is None:
            return "RRF k is not swept yet"
        if not self.sweep.improves:
            return f"k {format_number(self.sweep.current_point.k)} is the best of the paper's values"
        best = self.sweep.best
        significance = "significant" if best.significant else "not significant"
        return f"Best at k {format_number(best.k)}: {format_signed(best.comparison.difference, 3)}, {significance}"

    @property
    def profile(self) -> str:
        """Profile to save k in."""
        assert self.config is not None
        return self.config.profile or self.config.system.name

    @property
    def tune_query(self) -> str:
        """Query string of the same sweep on the Tune page."""
        assert self.judgement_set is not None
        assert self.config is not None
        return urlencode({"set": self.judgement_set.name, "by": self.config.label, "split": "all"})


def save_best_rrf_k(namespace: Namespace, name: str, *, by: str) -> tuple[bool, str]:
    """Save the best k as the next version of a profile; return whether it was saved, and a message."""
    sweep = RRFKPanel.load(namespace).sweep
    if sweep is None or not sweep.improves:
        return False, "Nothing was saved: no other k is better."
    if problem := profile_versions.profile_name_problem(name):
        return False, f"Nothing was saved: the name {problem}."
    config, best = sweep.config, sweep.best
    version = profile_versions.add_profile_version(
        namespace,
        name=name,
        system=config.system.name,
        params={**config.given, RRF_K: best.k},
        parent=config.version_id,
        note=f"Calibrate: RRF k by its sweep, {format_signed(best.comparison.difference, 3)}"
        f" (p {format_p_value(best.p_value)}).",
        by=by,
    )
    return True, f"Saved as {profile_versions.version_label(version)}. It is not served until it is published."
