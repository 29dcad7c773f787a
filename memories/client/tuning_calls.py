"""Calls that evaluate configurations on judged queries, optimise them and publish profiles."""

from collections.abc import Iterator, Mapping
from typing import Any, Unpack, cast
from urllib.parse import quote
from uuid import UUID

from memories.client.payloads import (
    AblationJson,
    EvaluationFilters,
    EvaluationJson,
    EvaluationOptions,
    EvaluationRowJson,
    EvaluationTarget,
    JobJson,
    OptimiseOptions,
    ProfilesJson,
    ProfileVersionJson,
    PublicationJson,
    SensitivityJson,
    SensitivityOptions,
)
from memories.client.transport import ApiCalls


class TuningCalls(ApiCalls):
    """Calls for programs that tune a namespace."""

    def measure(self, **options: Unpack[EvaluationOptions]) -> EvaluationJson | JobJson:
        """Evaluate a configuration on a judgement set; returns a job if the queries must run first: repeat after it."""
        return cast(EvaluationJson | JobJson, self._write("evaluations/", options))

    def evaluations(self, **filters: Unpack[EvaluationFilters]) -> Iterator[EvaluationRowJson]:
        """Iterate over stored evaluations, newest first, page by page."""
        return self._paginate("evaluations/", filters)

    def sensitivity(self, **options: Unpack[SensitivityOptions]) -> SensitivityJson:
        """Sensitivity of a metric to each parameter."""
        return cast(SensitivityJson, self._get("sensitivity/", options))

    def ablation(self, **options: Unpack[EvaluationTarget]) -> AblationJson:
        """Ablation of each retriever."""
        return cast(AblationJson, self._get("ablation/", options))

    def optimise(self, **options: Unpack[OptimiseOptions]) -> JobJson:
        """Start a search for better parameters."""
        return cast(JobJson, self._write("optimise/", options))

    def job(self, id: UUID | str) -> JobJson:
        """The state and progress of a job."""
        return cast(JobJson, self._get(f"jobs/{quote_path_segment(id)}/"))

    def stop(self, id: UUID | str) -> JobJson:
        """Stop a search with the best result so far."""
        return cast(JobJson, self._write(f"jobs/{quote_path_segment(id)}/stop/", {}))

    def profiles(self) -> ProfilesJson:
        """List the newest versions of all profiles, and the current publication."""
        return cast(ProfilesJson, self._get("profiles/"))

    def save_profile(
        self, name: str, system: str, params: Mapping[str, Any], *, parent: UUID | str | None = None, note: str = ""
    ) -> ProfileVersionJson:
        """Save the next version of a profile; it is unused until published."""
        body = {"name": name, "system": system, "params": params, "note": note}
        return cast(ProfileVersionJson, self._write("profiles/", body | ({"parent": parent} if parent else {})))

    def check_profile(self, version: UUID | str) -> JobJson:
        """Start the gate's check of a version against the published one."""
        return cast(JobJson, self._write(f"profiles/{quote_path_segment(version)}/gate/"))

    def publish_profile(self, version: UUID | str, *, override: str = "", note: str = "") -> PublicationJson:
        """Publish a version; the gate's objection needs an override reason."""
        body = {"note": note} | ({"override": override} if override else {})
        return cast(PublicationJson, self._write(f"profiles/{quote_path_segment(version)}/publish/", body))

    def roll_back(self, *, note: str = "") -> PublicationJson:
        """Publish the previous version again."""
        return cast(PublicationJson, self._write("profiles/rollback/", {"note": note}))


def quote_path_segment(id: UUID | str) -> str:
    """An id as a URL path segment."""
    return quote(str(id), safe="")
