"""A valid row of any table, built from the models themselves, is stored and read back."""

from typing import Any

import pytest

from tests.support.rows import NAMESPACED, empty_namespace, row


@pytest.mark.django_db
@pytest.mark.parametrize("model", NAMESPACED)
def test_a_row_of_every_table_is_stored_and_read_back(model: type[Any]) -> None:
    namespace = empty_namespace("here")
    stored = row(model, namespace)
    found = model.objects.within(namespace).get()
    assert found == stored
    for field in model._meta.concrete_fields:
        before, after = getattr(stored, field.attname), getattr(found, field.attname)
        assert (bytes(after) if isinstance(after, memoryview) else after) == before, field.name
    assert str(found)
