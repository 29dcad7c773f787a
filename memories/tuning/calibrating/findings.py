"""What a calibration finds, in words, with the change that each finding proposes."""

from collections.abc import Iterator

from memories.templatetags.numbers import figure
from memories.tuning.calibrating.calibrate import Calibration
from scoring.calibration import Finding, recalibration

Changes = dict[str, dict[str, float]]  # write parameters, by the part that changes them
NOTHING_FOUND = 1.0  # stands for a kappa or a share that is not known


def offers(found: Calibration) -> Changes:
    """The parts that can be kept: those that are known, differ from what serves, and that the gate lets pass."""
    policy, parts = found.policy, Changes()
    first = found.preference
    if found.preference_first and first.fitted is not None:
        parts["preference"] = {first.param: first.fitted}
    if found.valid:
        parts["priors"] = {one.param: one.fitted for one in found.types if one.fitted is not None and one.valid}
        if found.weights and found.weights.helps:
            parts["weights"] = dict(found.weights.fitted)
    if formal := [one.change for one in triggers(found) if one.change]:
        parts["formal"] = formal[0]
    if found.best is not None:
        threshold = found.best.threshold
        asked = min(policy.dedup_escalate, threshold)
        parts["threshold"] = {"dedup_duplicate": threshold, "dedup_escalate": asked}
    served = policy.as_dict()
    moved = {part: {name: to for name, to in some.items() if served[name] != to} for part, some in parts.items()}
    return {part: parts[part] if part == "weights" else some for part, some in moved.items() if some}


def triggers(found: Calibration) -> list[Finding]:
    """The paper's two, where enough is known of each."""
    policy, kappa = found.policy, found.preference.kappa
    return recalibration(
        0.0 if found.direct is None else found.direct,
        NOTHING_FOUND if kappa is None else kappa.value,
        direct_limit=policy.direct_share,
        kappa_limit=policy.kappa_preference,
        source_weight=policy.formal_source,
        extractor_weight=policy.formal_extractor,
    )


def found(of: Calibration) -> list[Finding]:
    """Everything worth saying, in the order in which to do it."""
    changes = offers(of)
    return [*gate(of), *first(of, changes), *unclear(of), *fits(of, changes), *thresholds(of, changes)]


def gate(of: Calibration) -> Iterator[Finding]:
    """Whether anything may be concluded at all."""
    policy = of.policy
    if of.missing:
        have = f"{len(of.ground.shared)} of {policy.annotated_by_two} memories are annotated by two"
        yield Finding("annotate more before anything is concluded", have, {})
    elif of.kappa and not of.valid:
        low = f"κ {figure(of.kappa.value, 2)} is not above {figure(policy.kappa_gate)} over all types"
        yield Finding("make the guidelines clearer, and annotate again", low, {})


def first(of: Calibration, changes: Changes) -> Iterator[Finding]:
    """The paper's triggers, with the prior that annotators' agreement gives."""
    kappa, policy = of.preference.kappa, of.policy
    for one in triggers(of):
        if one.change or kappa is None:
            yield one
            continue
        low = f"κ {figure(kappa.value, 2)} is below {figure(policy.kappa_preference)}"
        yield Finding(one.what, low, changes.get("preference", {}))


def unclear(of: Calibration) -> Iterator[Finding]:
    """The types that fail the gate though all together pass it; of a Preference below its own limit is told first."""
    gate = figure(of.policy.kappa_gate)
    for one in of.types if of.valid else ():
        if one.kappa and not one.valid and not (one is of.preference and of.preference_first):
            low = f"κ {figure(one.kappa.value, 2)} is not above {gate}, so its prior stays until annotators agree on it"
            yield Finding(f"make clearer what is {named(one.type)}", low, {})


def named(type: str) -> str:
    """A type with its article."""
    return f"{'an' if type[0] in 'AEIOU' else 'a'} {type}"


def fits(of: Calibration, changes: Changes) -> Iterator[Finding]:
    """What the fitted weights and priors are worth."""
    if of.weights:
        error = of.weights.held_out_error
        told = f"the error of {figure(error.before, 4)} becomes {figure(error.after, 4)} on the half kept back"
        what = "move the weights" if of.weights.helps else "leave the weights where they are"
        yield Finding(what, told, changes.get("weights", {}))
    if change := changes.get("priors"):
        names = ", ".join(name.removeprefix("prior_").title() for name in change)
        told = "how often annotators agree with the type that was stored gives others"
        yield Finding(f"move the priors: {names}", told, change)


def thresholds(of: Calibration, changes: Changes) -> Iterator[Finding]:
    """What the judged pairs say of the threshold above which two memories are merged."""
    if of.best and "threshold" in changes:
        times = f"a false merge counted {figure(of.policy.merge_cost)} times"
        told = f"it costs least, {figure(of.best.cost, 1)} % with {times}"
        yield Finding(f"merge above {figure(of.best.threshold)}", told, changes["threshold"])
    elif of.pairs and of.best is None:
        have = f"of {len(of.pairs)} judged pairs too few lie on one side of it to weigh it against others"
        yield Finding(f"judge pairs on both sides of {figure(of.policy.dedup_duplicate)}", have, {})
