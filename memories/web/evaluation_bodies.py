"""What to evaluate, optimise or ablate, as request bodies."""

from typing import Any

from rest_framework.exceptions import ValidationError

from memories.models import JudgedQuery, Namespace
from memories.models.choices import Split
from memories.retrieval.config import UnknownProfileError, resolve_config
from memories.retrieval.query import Config
from memories.tuning import optimiser
from memories.tuning.measurement import MAIN_METRIC, METRICS
from memories.tuning.objective import Objective
from memories.tuning.optimiser import SearchSpec
from memories.tuning.pareto import DIVERSITY, TRADEOFFS
from memories.web.fields import Float, Integer, JsonObject, ListOf, OneOf, Text
from memories.web.http_errors import params_validation_error
from memories.web.judgement_lookups import find_judgement_set
from memories.web.ranking_choice import PRESET_HELP, check_ranking_choice
from memories.web.serializers import QueryString, StrictObject
from scoring.params import ParamsError
from scoring.systems import SYSTEMS


class RankingConfigSerializer(StrictObject):
    """The ranking configuration: a system or a profile; default: the published profile."""

    system = OneOf(choices=list(SYSTEMS), required=False, help_text="a system with its defaults")
    preset = Text(max_length=100, required=False, help_text=PRESET_HELP)
    profile = Text(max_length=120, required=False, help_text="a profile's name, or name@version")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Reject system and profile together, and an unknown preset."""
        check_ranking_choice(attrs)
        return attrs


class EvaluationTargetSerializer(RankingConfigSerializer):
    """A judgement set and a ranking configuration."""

    set = Text(
        max_length=100, required=False, help_text="judgement set by name or id; default: the one with most queries"
    )
    metric = OneOf(choices=list(METRICS), default=MAIN_METRIC)


class OptimiseSerializer(EvaluationTargetSerializer):
    """What the optimiser searches for."""

    params = JsonObject(default=dict, help_text="parameter overrides of the starting point")
    move = ListOf(
        child=Text(max_length=100),
        max_length=100,
        default=list,
        help_text="parameters to tune, among those that need no new candidates; default: all of them",
    )
    price = Float(
        min_value=0, max_value=10, default=0.0, help_text="penalty on the metric per false abstention or false answer"
    )
    against = OneOf(
        choices=list(TRADEOFFS), default=DIVERSITY, help_text="the second objective of the Pareto front in `points`"
    )
    max_trials = Integer(
        min_value=2,
        max_value=optimiser.MAX_TRIALS,
        default=optimiser.DEFAULT_TRIALS,
        help_text="maximum number of trials",
    )
    seconds = Integer(
        min_value=1,
        max_value=optimiser.MAX_SECONDS,
        default=optimiser.DEFAULT_SECONDS,
        help_text="time limit in seconds",
    )
    seed = Integer(
        min_value=0, max_value=2**31 - 1, default=optimiser.DEFAULT_SEED, help_text="of the random number generator"
    )


class AblationQuery(QueryString, EvaluationTargetSerializer):
    """The judgement set and the configuration."""


def search_spec_from_body(namespace: Namespace, body: dict[str, Any]) -> SearchSpec:
    """The search specification of a validated body; unknown parameters and missing splits are rejected."""
    judgement_set = find_judgement_set(namespace, body.get("set", ""))
    config = evaluation_config_from_body(namespace, body, body["params"])
    allowed = optimiser.tunable_params(config)
    unknown = [name for name in body["move"] if name not in allowed]
    if unknown:
        raise ValidationError({"move": [f"must be some of {', '.join(allowed)}; got {', '.join(unknown)}"]})
    splits = set(
        JudgedQuery.objects.within(namespace).filter(judgement_set_id=judgement_set.id).values_list("split", flat=True)
    )
    if missing := [split.value for split in Split if split not in splits]:
        raise ValidationError({"set": [f"must have queries to tune on and others held out; got none in {missing[0]}"]})
    return SearchSpec(
        set=judgement_set.id,
        config=config,
        move=tuple(dict.fromkeys(body["move"])) or tuple(allowed),
        objective=Objective(body["metric"], body["price"]),
        **{name: body[name] for name in ("against", "max_trials", "seconds", "seed")},
    )


def evaluation_config_from_body(namespace: Namespace, body: dict[str, Any], params: dict[str, Any]) -> Config:
    """The configuration a request names; unknown profiles and invalid parameters are rejected."""
    try:
        named = {name: body[name] for name in ("system", "preset", "profile") if name in body}
        return resolve_config(namespace, **named, params=params)
    except ParamsError as error:
        raise params_validation_error(error) from error
    except UnknownProfileError as error:
        message = f"must be a profile of this namespace, or name@version; got {error}"
        raise ValidationError({"profile": [message]}) from error
