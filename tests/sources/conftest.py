"""An agent in an empty namespace whose clock stands still, and one in the retrieval world."""

import pytest

from memories.models import Namespace
from tests.support.agent import Agent
from tests.support.retrieval_world import NOW


@pytest.fixture
def agent(db: None) -> Agent:
    """An agent in an empty namespace."""
    return Agent(Namespace.objects.create(slug="here", title="Here", clock=NOW))


@pytest.fixture
def reader(world: Namespace, db: None) -> Agent:
    """An agent in the retrieval world, which is stored once for all tests of a module."""
    return Agent(world)
