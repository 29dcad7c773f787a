"""The versions that serve a namespace come in one query."""

from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from memories.models import Profile, ProfileVersion, Publication, WritePolicyVersion
from tests.support.rows import TIMESTAMP, empty_namespace, row

pytestmark = pytest.mark.django_db


def values(one: Any) -> dict[str, Any]:
    """All that a row holds."""
    return {field.attname: getattr(one, field.attname) for field in one._meta.concrete_fields}


def test_what_serves_is_the_newest_publication_with_all_that_it_refers_to(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    here, there = empty_namespace("here"), empty_namespace("there")
    assert here.serving is None
    profile = row(ProfileVersion, here, params={"k": 0.1, "plans": ["narrow"]})
    policy = row(WritePolicyVersion, here, params={"near": 0.9})
    newest = row(Publication, here, profile_version=profile, policy_version=policy, published_at=TIMESTAMP)
    row(Publication, here, published_at=TIMESTAMP - timedelta(days=1))
    row(Publication, there, published_at=TIMESTAMP + timedelta(days=1))
    with django_assert_num_queries(1):
        serving = here.serving
        assert serving is not None
        assert serving.profile_version is not None
        told = [serving, serving.profile_version, serving.profile_version.profile, serving.policy_version]
    kept = [
        model.objects.within(here).get(id=one.id)
        for model, one in zip([Publication, ProfileVersion, Profile, WritePolicyVersion], told, strict=True)
    ]
    assert [values(one) for one in told] == [values(one) for one in kept]
    assert told == kept
    assert serving.id == newest.id


def test_a_publication_of_neither_a_profile_nor_a_policy_has_neither(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    here = empty_namespace("here")
    row(Publication, here)
    with django_assert_num_queries(1):
        serving = here.serving
        assert serving is not None
        assert (serving.profile_version, serving.policy_version) == (None, None)
