"""Declared parameters as form controls."""

import re
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.http import QueryDict
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from memories.pages.sliders import Slider, param_groups, params_to_query, parse_changed_params
from scoring.params import Number, ParamsError
from scoring.systems import SYSTEMS
from scoring.systems.contextdb import ContextdbParams
from scoring.systems.recall import RecallParams

SLIDERS = '{% include "parts/params.html"'
TEMPLATES = [path for path in Path(settings.ROOT, "templates").rglob("*.html") if SLIDERS in path.read_text()]
EVERY = [(system, name) for system in SYSTEMS for name in SYSTEMS[system].params.declarations()]


def slider(name: str, **values: object) -> Slider:
    """One slider of recall."""
    return next(one for group in param_groups(RecallParams, values) for one in group.sliders if one.name == name)


def test_a_slider_is_positioned_at_its_value_and_marks_its_default() -> None:
    one = slider("rrf_k", rrf_k=105.0)
    assert (one.fill, one.default_position, one.changed) == (50.0, pytest.approx(26.3, abs=0.05), True)
    assert not slider("rrf_k").changed


def test_a_wide_range_has_a_log_scale() -> None:
    shown = {one.name: one for group in param_groups(ContextdbParams, {"alpha": 1.0}) for one in group.sliders}
    assert shown["alpha"].track["value"] == 0.0
    assert shown["alpha"].fill == pytest.approx(100 * 6 / (6 + 2.99957), abs=0.01)
    form = render_to_string("parts/params.html", {"groups": param_groups(ContextdbParams, {})})
    assert form.count('name="p.alpha"') == form.count('id="p-alpha" data-log') == 1


def test_groups_keep_the_order_of_the_declarations_and_count_what_changed() -> None:
    shown = param_groups(RecallParams, {"rrf_k": 30.0, "weight_bm25": 2.0})
    assert len({group.name for group in shown}) == len(shown)
    assert [one.name for group in shown for one in group.sliders if one.changed] == ["rrf_k", "weight_bm25"]
    assert {group.name: group.changed for group in shown if group.changed} == {"Fusion": 2}


def test_a_group_that_needs_a_new_query_is_collapsed_until_changed() -> None:
    by_name = {group.name: group for group in param_groups(RecallParams, {})}
    assert any(group.needs_new_query and not group.open for group in by_name.values())
    assert by_name["Fusion"].open


@pytest.mark.parametrize(("system", "name"), EVERY)
def test_every_declared_parameter_can_be_set_by_a_query_string(system: str, name: str) -> None:
    params = SYSTEMS[system].params
    declaration = params.declarations()[name]
    for value in sample_values(declaration):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        data = QueryDict(mutable=True)
        data[f"p.{name}"] = text
        try:
            params.of({name: value})
        except ParamsError:
            continue  # a constraint between several parameters forbids it
        parsed = parse_changed_params(params, data)
        assert parsed == ({} if value == declaration.default else {name: value})
        assert parse_changed_params(params, QueryDict(urlencode(params_to_query(parsed)))) == parsed


def sample_values(declaration: object) -> list[object]:
    """Some valid values of a parameter."""
    if isinstance(declaration, Number):
        return [declaration.low, declaration.high, declaration.default]
    return list(getattr(declaration, "options", (True, False)))


@pytest.mark.parametrize("text", ["", "much", "nan", "inf", "-1", "1e9"])
def test_what_is_no_value_is_refused_with_what_is_allowed_and_what_came(text: str) -> None:
    with pytest.raises(ParamsError, match="rrf_k must be a number from 10 to 200"):
        parse_changed_params(RecallParams, QueryDict(f"p.rrf_k={text}"))


def test_what_nobody_declared_is_refused() -> None:
    with pytest.raises(ParamsError, match="magic is not a parameter here"):
        parse_changed_params(RecallParams, QueryDict("p.magic=1"))


def test_a_checkbox_that_is_off_sends_its_hidden_no() -> None:
    assert parse_changed_params(RecallParams, QueryDict("p.confidence_gate=false")) == {"confidence_gate": False}
    assert parse_changed_params(RecallParams, QueryDict("p.confidence_gate=false&p.confidence_gate=true")) == {}


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    data = QueryDict(mutable=True)
    data["p.rrf_k"] = text
    with suppress(ParamsError):
        assert set(parse_changed_params(RecallParams, data)) <= {"rrf_k"}


def test_the_form_shows_every_parameter_once_with_its_bounds() -> None:
    rendered = render_to_string("parts/params.html", {"groups": param_groups(RecallParams, {"rrf_k": 30.0})})
    shown = " ".join(rendered.split())  # templates wrap their attributes
    for name in RecallParams.declarations():
        assert shown.count(f'id="p-{name}"') == 1
    # The number input is what is sent; the range input may round to its steps.
    assert 'name="p.rrf_k" step="any" value="30" min="10" max="200"' in shown
    assert 'id="p-rrf_k" min="10" max="200" step="1" value="30.0" data-default="60.0"' in shown
    assert "1 changed" in shown
    assert "back to 60" in shown
    assert "style=" not in shown


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_a_form_of_sliders_leaves_it_to_the_server_to_refuse_a_value(template: Path) -> None:
    # htmx silently does not send a form that the browser finds invalid.
    before, _ = template.read_text().split(SLIDERS)
    form = re.findall(r"<form\b.*?>", before, re.DOTALL)[-1]
    assert "novalidate" in form.split()
