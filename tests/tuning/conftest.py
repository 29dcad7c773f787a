"""Arrays of the judged retrieval world."""

from typing import Any

import pytest

from memories.models import JudgementSet, Namespace
from memories.retrieval.config import system_config
from memories.tuning.array_cache import cached_arrays
from memories.tuning.arrays import Arrays
from scoring.systems import SYSTEMS
from tests.support.judged_world import trace_set


@pytest.fixture(scope="module")
def arrays(world: Namespace, judgement_set: JudgementSet, django_db_blocker: Any) -> dict[str, Arrays]:
    """The arrays of every system."""
    with django_db_blocker.unblock():
        return {
            name: cached_arrays(trace_set(world, judgement_set, system_config(world, system)))
            for name, system in SYSTEMS.items()
        }
