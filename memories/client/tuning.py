"""The calls that measure settings on judged queries, search for better ones, and decide which serves."""

from collections.abc import Iterator, Mapping
from typing import Any, Unpack, cast
from urllib.parse import quote
from uuid import UUID

from memories.client.shapes import (
    Ablated,
    Curves,
    Evaluating,
    EvaluationRow,
    Job,
    Measured,
    Measuring,
    OnSet,
    Optimising,
    Profiles,
    ProfileVersion,
    Publication,
    Sensing,
)
from memories.client.transport import Calls


class Tuning(Calls):
    """What a program that tunes a namespace may ask."""

    def measure(self, **asked: Unpack[Measuring]) -> Measured | Job:
        """Measure a setting on a judged set; a job where the questions must be asked first: measure again after it."""
        return cast(Measured | Job, self._write("evaluations/", asked))

    def evaluations(self, **asked: Unpack[Evaluating]) -> Iterator[EvaluationRow]:
        """Walk what was measured, newest first, page by page."""
        return self._walk("evaluations/", asked)

    def sensitivity(self, **asked: Unpack[Sensing]) -> Curves:
        """Ask what each parameter alone does to a metric."""
        return cast(Curves, self._get("sensitivity/", asked))

    def ablation(self, **asked: Unpack[OnSet]) -> Ablated:
        """Ask what each retriever is good for."""
        return cast(Ablated, self._get("ablation/", asked))

    def optimise(self, **asked: Unpack[Optimising]) -> Job:
        """Have a better setting searched for."""
        return cast(Job, self._write("optimise/", asked))

    def job(self, id: UUID | str) -> Job:
        """Ask how far long work is."""
        return cast(Job, self._get(f"jobs/{quoted(id)}/"))

    def stop(self, id: UUID | str) -> Job:
        """Have a search end with the best so far."""
        return cast(Job, self._write(f"jobs/{quoted(id)}/stop/", {}))

    def profiles(self) -> Profiles:
        """List the newest versions of all profiles, and what serves."""
        return cast(Profiles, self._get("profiles/"))

    def keep_profile(
        self, name: str, system: str, params: Mapping[str, Any], *, parent: UUID | str | None = None, note: str = ""
    ) -> ProfileVersion:
        """Keep a setting as the next version of a profile; it serves nobody until it is published."""
        said = {"name": name, "system": system, "params": params, "note": note}
        return cast(ProfileVersion, self._write("profiles/", said | ({"parent": parent} if parent else {})))

    def check_profile(self, version: UUID | str) -> Job:
        """Have a version held against what serves."""
        return cast(Job, self._write(f"profiles/{quoted(version)}/gate/"))

    def publish_profile(self, version: UUID | str, *, override: str = "", note: str = "") -> Publication:
        """Let a version serve; what the gate has against it takes a reason to override."""
        said = {"note": note} | ({"override": override} if override else {})
        return cast(Publication, self._write(f"profiles/{quoted(version)}/publish/", said))

    def roll_back(self, *, note: str = "") -> Publication:
        """Let what served before serve again."""
        return cast(Publication, self._write("profiles/rollback/", {"note": note}))


def quoted(id: UUID | str) -> str:
    """An id as a part of an address."""
    return quote(str(id), safe="")
