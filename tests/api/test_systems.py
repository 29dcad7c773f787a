"""`GET /api/v1/systems/` serves the registry as it is."""

import pytest
from django.test import Client

from scoring.params import Number
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS

pytestmark = pytest.mark.django_db


def test_every_system_and_every_parameter_is_served_as_declared(client: Client) -> None:
    registry = client.get("/api/v1/systems/").json()
    assert [system["name"] for system in registry["systems"]] == list(SYSTEMS)
    sets = [(system["parameters"], SYSTEMS[system["name"]].params) for system in registry["systems"]]
    for served, params in [*sets, (registry["write_policy"]["parameters"], WritePolicyParams)]:
        assert [one["name"] for one in served] == list(params.declarations())
        for one in served:
            declaration = params.declarations()[one["name"]]
            assert one["default"] == declaration.default
            assert (one["scope"], one["source"], one["kind"]) == (
                declaration.scope,
                declaration.source,
                declaration.kind,
            )
            if isinstance(declaration, Number):
                assert (one["low"], one["high"], one["step"]) == (declaration.low, declaration.high, declaration.step)


def test_a_parameter_is_served_with_the_conditions_under_which_it_moves_nothing(client: Client) -> None:
    for system in client.get("/api/v1/systems/").json()["systems"]:
        served = {one["name"]: one["inert_while"] for one in system["parameters"]}
        params = SYSTEMS[system["name"]].params
        defaults = {one["name"]: one["default"] for one in system["parameters"]}
        by_default = {
            name
            for name, conditions in served.items()
            for condition in conditions
            if all(defaults[other] in values for other, values in condition["when"].items())
        }
        assert by_default == set(params().inert_parameters())
        if system["name"] == "memorysync":
            assert served["freshness_floor"] == [{"reason": "decay has no weight", "when": {"weight_decay": [0]}}]


def test_served_defaults_and_presets_are_accepted_back(client: Client) -> None:
    for system in client.get("/api/v1/systems/").json()["systems"]:
        params = SYSTEMS[system["name"]].params
        assert params.of({one["name"]: one["default"] for one in system["parameters"]}) == params()
        assert all(params.of(preset) for preset in system["presets"].values())


def test_the_registry_is_open_to_read_and_only_to_read(client: Client) -> None:
    assert client.get("/api/v1/systems/").status_code == 200
    refused = client.post("/api/v1/systems/", {})
    assert refused.status_code == 405
    assert refused["Content-Type"] == "application/problem+json"


def test_the_schema_describes_the_registry(client: Client) -> None:
    schema = client.get("/api/v1/schema/?format=json").json()
    assert schema["openapi"].startswith("3.1")
    answer = schema["paths"]["/api/v1/systems/"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/Registry"}
