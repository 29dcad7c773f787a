"""Maya and her namespace, for the pages."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memories.models import Membership, Namespace


@pytest.fixture
def maya(db: None) -> User:
    return User.objects.create_user("maya", password="tall-ships-7")


@pytest.fixture
def home(maya: User) -> Namespace:
    """Maya's namespace, which is empty."""
    namespace = Namespace.objects.create(slug="home", title="Maya at home")
    Membership.objects.create(user=maya, namespace=namespace, role="admin")
    return namespace


@pytest.fixture
def signed_in(client: Client, maya: User, home: Namespace) -> Client:
    """A client signed in as Maya."""
    client.force_login(maya)
    return client
