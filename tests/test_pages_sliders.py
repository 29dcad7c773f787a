"""Declared parameters as a person moves them."""

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

from memories.pages.sliders import Slider, address, groups
from memories.pages.sliders import given as moved
from scoring.params import Number, ParamsError
from scoring.systems import SYSTEMS
from scoring.systems.contextdb import ContextdbParams
from scoring.systems.recall import RecallParams

SLIDERS = '{% include "parts/params.html"'
TEMPLATES = [path for path in Path(settings.ROOT, "templates").rglob("*.html") if SLIDERS in path.read_text()]
EVERY = [(system, name) for system in SYSTEMS for name in SYSTEMS[system].params.declared()]


def slider(name: str, **values: object) -> Slider:
    """One slider of recall."""
    return next(one for group in groups(RecallParams, values) for one in group.sliders if one.name == name)


def test_a_slider_stands_where_its_value_is_and_marks_its_default() -> None:
    one = slider("rrf_k", rrf_k=105.0)
    assert (one.fill, one.tick, one.changed) == (50.0, pytest.approx(26.3, abs=0.05), True)
    assert not slider("rrf_k").changed


def test_a_wide_range_is_moved_by_powers_of_ten() -> None:
    shown = {one.name: one for group in groups(ContextdbParams, {"alpha": 1.0}) for one in group.sliders}
    assert shown["alpha"].track["value"] == 0.0
    assert shown["alpha"].fill == pytest.approx(100 * 6 / (6 + 2.99957), abs=0.01)
    form = render_to_string("parts/params.html", {"groups": groups(ContextdbParams, {})})
    assert form.count('name="p.alpha"') == form.count('id="p-alpha" data-log') == 1


def test_groups_keep_the_order_of_the_declarations_and_count_what_changed() -> None:
    shown = groups(RecallParams, {"rrf_k": 30.0, "weight_bm25": 2.0})
    assert len({group.name for group in shown}) == len(shown)
    assert [one.name for group in shown for one in group.sliders if one.changed] == ["rrf_k", "weight_bm25"]
    assert {group.name: group.changed for group in shown if group.changed} == {"Fusion": 2}


def test_a_group_that_asks_again_is_closed_until_it_is_moved() -> None:
    by_name = {group.name: group for group in groups(RecallParams, {})}
    assert any(group.asks_again and not group.open for group in by_name.values())
    assert by_name["Fusion"].open


@pytest.mark.parametrize(("system", "name"), EVERY)
def test_every_declared_parameter_can_be_moved_by_an_address(system: str, name: str) -> None:
    params = SYSTEMS[system].params
    declaration = params.declared()[name]
    for value in tried(declaration):
        text = str(value).lower() if isinstance(value, bool) else str(value)
        told = QueryDict(mutable=True)
        told[f"p.{name}"] = text
        try:
            params.of({name: value})
        except ParamsError:
            continue  # a law between several values forbids it
        read = moved(params, told)
        assert read == ({} if value == declaration.default else {name: value})
        assert moved(params, QueryDict(urlencode(address(read)))) == read


def tried(declaration: object) -> list[object]:
    """Some values of a parameter."""
    if isinstance(declaration, Number):
        return [declaration.low, declaration.high, declaration.default]
    return list(getattr(declaration, "options", (True, False)))


@pytest.mark.parametrize("text", ["", "much", "nan", "inf", "-1", "1e9"])
def test_what_is_no_value_is_refused_with_what_is_allowed_and_what_came(text: str) -> None:
    with pytest.raises(ParamsError, match="rrf_k must be a number from 10 to 200"):
        moved(RecallParams, QueryDict(f"p.rrf_k={text}"))


def test_what_nobody_declared_is_refused() -> None:
    with pytest.raises(ParamsError, match="magic is not a parameter here"):
        moved(RecallParams, QueryDict("p.magic=1"))


def test_a_checkbox_that_is_off_sends_its_hidden_no() -> None:
    assert moved(RecallParams, QueryDict("p.confidence_gate=false")) == {"confidence_gate": False}
    assert moved(RecallParams, QueryDict("p.confidence_gate=false&p.confidence_gate=true")) == {}


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    told = QueryDict(mutable=True)
    told["p.rrf_k"] = text
    with suppress(ParamsError):
        assert set(moved(RecallParams, told)) <= {"rrf_k"}


def test_the_form_shows_every_parameter_once_with_its_bounds() -> None:
    shown = render_to_string("parts/params.html", {"groups": groups(RecallParams, {"rrf_k": 30.0})})
    for name in RecallParams.declared():
        assert shown.count(f'id="p-{name}"') == 1
    # The typed number is what is sent: the track may round to its steps.
    assert 'name="p.rrf_k" min="10" max="200" step="any" value="30"' in shown
    assert 'id="p-rrf_k" min="10" max="200" step="1" value="30.0" data-default="60.0"' in shown
    assert "1 changed" in shown
    assert "back to 60" in shown
    assert "style=" not in shown


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: path.stem)
def test_a_form_of_sliders_leaves_it_to_the_server_to_refuse_a_value(template: Path) -> None:
    # htmx sends nothing of a form that the browser finds invalid, and says nothing either.
    before, _ = template.read_text().split(SLIDERS)
    form = re.findall(r"<form\b.*?>", before, re.DOTALL)[-1]
    assert " novalidate " in form
