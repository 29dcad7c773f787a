"""What a calibration finds, in words, with the change that each finding proposes."""

from collections.abc import Iterator

from memories.contracts.number_format import format_number
from memories.tuning.calibration.results import Calibration
from scoring.calibration import Finding, recalibration

ParamChanges = dict[str, dict[str, float]]  # write parameters by finding
UNKNOWN = 1.0  # an unknown kappa or share


def proposed_changes(calibration: Calibration) -> ParamChanges:
    """The changes that can be drafted: known, different from the serving policy, and past the kappa gate."""
    policy, parts = calibration.policy, ParamChanges()
    preference = calibration.preference
    if calibration.preference_first and preference.fitted is not None:
        parts["preference"] = {preference.param: preference.fitted}
    if calibration.valid:
        parts["priors"] = {
            agreement.param: agreement.fitted
            for agreement in calibration.types
            if agreement.fitted is not None and agreement.valid
        }
        if calibration.weights and calibration.weights.improves:
            parts["weights"] = dict(calibration.weights.fitted)
    if formal := [trigger.change for trigger in recalibration_triggers(calibration) if trigger.change]:
        parts["formal"] = formal[0]
    if calibration.best is not None:
        threshold = calibration.best.threshold
        parts["threshold"] = {
            "dedup_duplicate": threshold,
            "dedup_escalate": min(policy.dedup_escalate, threshold),
        }
    served = policy.as_dict()
    changed = {
        part: {name: value for name, value in params.items() if served[name] != value} for part, params in parts.items()
    }
    # Weights count relative to each other, so they are proposed together.
    return {part: parts[part] if part == "weights" else params for part, params in changed.items() if params}


def recalibration_triggers(calibration: Calibration) -> list[Finding]:
    """The paper's two triggers, if enough is known of each."""
    policy, kappa = calibration.policy, calibration.preference.kappa
    return recalibration(
        0.0 if calibration.direct_share is None else calibration.direct_share,
        UNKNOWN if kappa is None else kappa.value,
        direct_limit=policy.direct_share,
        kappa_limit=policy.kappa_preference,
        source_weight=policy.formal_source,
        extractor_weight=policy.formal_extractor,
    )


def calibration_findings(calibration: Calibration) -> list[Finding]:
    """All findings, in the order in which to act on them."""
    changes = proposed_changes(calibration)
    return [
        *agreement_findings(calibration),
        *trigger_findings(calibration, changes),
        *unclear_type_findings(calibration),
        *fit_findings(calibration, changes),
        *threshold_findings(calibration, changes),
    ]


def agreement_findings(calibration: Calibration) -> Iterator[Finding]:
    """Whether annotators agree well enough to conclude anything."""
    policy = calibration.policy
    if calibration.missing:
        have = f"{len(calibration.annotated.shared)} of {policy.annotated_by_two} memories are annotated by two"
        yield Finding("annotate more before anything is concluded", have, {})
    elif calibration.kappa and not calibration.valid:
        kappa, gate = format_number(calibration.kappa.value, 2), format_number(policy.kappa_gate)
        low = f"κ {kappa} is not above {gate} over all types"
        yield Finding("make the guidelines clearer, and annotate again", low, {})


def trigger_findings(calibration: Calibration, changes: ParamChanges) -> Iterator[Finding]:
    """The paper's triggers, with the fitted prior."""
    kappa, policy = calibration.preference.kappa, calibration.policy
    for trigger in recalibration_triggers(calibration):
        if trigger.change or kappa is None:
            yield trigger
            continue
        low = f"κ {format_number(kappa.value, 2)} is below {format_number(policy.kappa_preference)}"
        yield Finding(trigger.what, low, changes.get("preference", {}))


def unclear_type_findings(calibration: Calibration) -> Iterator[Finding]:
    """The types that fail the gate although the mean passes; Preference has its own finding."""
    gate = format_number(calibration.policy.kappa_gate)
    for agreement in calibration.types if calibration.valid else ():
        if (
            agreement.kappa
            and not agreement.valid
            and not (agreement is calibration.preference and calibration.preference_first)
        ):
            kappa = format_number(agreement.kappa.value, 2)
            low = f"κ {kappa} is not above {gate}, so its prior stays until annotators agree on it"
            yield Finding(f"make clearer what is {with_article(agreement.type)}", low, {})


def with_article(type: str) -> str:
    """A type with its article."""
    return f"{'an' if type[0] in 'AEIOU' else 'a'} {type}"


def fit_findings(calibration: Calibration, changes: ParamChanges) -> Iterator[Finding]:
    """The effect of the fitted weights and priors."""
    if calibration.weights:
        error = calibration.weights.held_out_error
        before, after = format_number(error.before, 4), format_number(error.after, 4)
        reason = f"the error of {before} becomes {after} on the holdout half"
        what = "move the weights" if calibration.weights.improves else "leave the weights where they are"
        yield Finding(what, reason, changes.get("weights", {}))
    if change := changes.get("priors"):
        names = ", ".join(name.removeprefix("prior_").title() for name in change)
        reason = "fitted to how often annotators agree with the stored type"
        yield Finding(f"move the priors: {names}", reason, change)


def threshold_findings(calibration: Calibration, changes: ParamChanges) -> Iterator[Finding]:
    """The merge threshold with the lowest cost on judged pairs."""
    if calibration.best and "threshold" in changes:
        times = f"a false merge counted {format_number(calibration.policy.merge_cost)} times"
        reason = f"it costs least, {format_number(calibration.best.cost, 1)} % with {times}"
        yield Finding(f"merge above {format_number(calibration.best.threshold)}", reason, changes["threshold"])
    elif calibration.pairs and calibration.best is None:
        have = f"of {len(calibration.pairs)} judged pairs too few lie on one side of it to weigh it against others"
        yield Finding(f"judge pairs on both sides of {format_number(calibration.policy.dedup_duplicate)}", have, {})
