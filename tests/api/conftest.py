"""An empty namespace and an agent that may write to it, for the API."""

import pytest
from django.test import Client

from memories.models import Namespace
from memories.models.choices import Role
from tests.support.access import key_to
from tests.support.rows import empty_namespace


@pytest.fixture
def namespace(db: None) -> Namespace:
    return empty_namespace("here")


@pytest.fixture
def agent(namespace: Namespace) -> Client:
    """A client with a write key."""
    return Client(headers=key_to(namespace, Role.WRITE))
