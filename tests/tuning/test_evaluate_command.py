"""`manage.py evaluate`: a profile measured on the command line, for people and for CI."""

import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from memories.models import Evaluation, JudgementSet, Namespace
from memories.models.choices import Split
from memories.tuning.measurement import MAIN_METRIC
from tests.support.judged_world import JUDGED_QUERIES
from tests.support.profiles import ABSTAINING, GOOD, add_version

pytestmark = [pytest.mark.django_db, pytest.mark.xdist_group("retrieval")]


def run_evaluate(*arguments: str) -> str:
    """What a command says on standard output."""
    out = io.StringIO()
    call_command("evaluate", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


@pytest.fixture
def versions(world: Namespace, judgement_set: JudgementSet) -> Any:
    """A good version and a ruined one."""
    return add_version(world, GOOD), add_version(world, ABSTAINING)


def test_a_version_that_is_good_enough_passes_and_is_kept(world: Namespace, versions: Any) -> None:
    out = run_evaluate(
        "asked", "--profile", "careful@1", "--fail-under", "ndcg@10=.5", "--fail-under", "false_abstention=0"
    )
    assert out.startswith(f"careful@1 on questions, {len(JUDGED_QUERIES)} queries:")
    made = Evaluation.objects.within(world).get()
    assert made.profile_version_id == versions[0].id
    assert re.search(rf"ndcg@10 +{made.metrics[MAIN_METRIC]['mean']:.3f} ", out)


@pytest.mark.parametrize(
    ("bound", "told"),
    [("ndcg@10=.5", "ndcg@10 is 0.000, under 0.5"), ("false_abstention=.5", "false_abstention is 1.000, over 0.5")],
)
def test_a_version_that_is_not_good_enough_ends_with_1(versions: Any, bound: str, told: str) -> None:
    with pytest.raises(CommandError, match=re.escape(told)) as failed:
        run_evaluate("asked", "--profile", "careful", "--fail-under", bound)
    assert failed.value.returncode == 1


def test_a_part_and_json_are_for_programs(world: Namespace, versions: Any) -> None:
    found = json.loads(
        run_evaluate("asked", "--profile", "careful@1", "--split", "holdout", "--set", "questions", "--json")
    )
    assert (found["profile"], found["on"]) == ("careful@1", "questions, holdout")
    made = Evaluation.objects.within(world).get(id=found["evaluation"])
    assert (made.split, made.metrics) == (Split.HOLDOUT, found["metrics"])


@pytest.mark.parametrize(
    ("arguments", "told", "code"),
    [
        (["nowhere", "--profile", "careful"], "There is no namespace nowhere", 2),
        (["asked", "--profile", "unheard"], "--profile must be a profile of asked", 2),
        (["asked", "--profile", "careful", "--set", "unheard"], r"--set must be .*\(questions\); got 'unheard'", 2),
        (["asked", "--profile", "careful", "--fail-under", "ndcg=.8"], "must be METRIC=VALUE", 1),
        (["asked", "--profile", "careful", "--fail-under", "ndcg@10=8"], "must be METRIC=VALUE", 1),
    ],
)
def test_what_is_missing_is_distinguished_from_what_is_not_good_enough(
    world: Namespace, versions: Any, arguments: list[str], told: str, code: int
) -> None:
    with pytest.raises(CommandError, match=told) as failed:
        run_evaluate(*arguments)
    assert failed.value.returncode == code
    assert not Evaluation.objects.within(world).exists()
