"""Tables of thresholds: the one that source 000 prints, in its order, and those of the other systems.

Defaults and ranges are declared in `scoring.policy` and `scoring.systems`; this module adds order, names and uses.
"""

from dataclasses import dataclass

from scoring.catalogue import SOURCES
from scoring.catalogue.entry import CatalogueSource, Constants, Formula
from scoring.params import Number, Params
from scoring.policy import WritePolicyParams
from scoring.systems import SYSTEMS
from scoring.systems.blend import BlendParams
from scoring.systems.recall import RecallParams


@dataclass(frozen=True)
class ThresholdEntry:
    """The formula that a threshold is a constant of, in its source."""

    source: CatalogueSource | None = None
    formula: Formula | None = None
    constants: Constants | None = None


@dataclass(frozen=True)
class Threshold:
    """A declared number as a row of a table of thresholds."""

    params: type[Params]
    param: str
    name: str = ""  # as the source prints it; empty: as declared
    used_in: str = ""  # as the source prints it; empty: the formula that has it, else its group

    @property
    def declaration(self) -> Number:
        """The parameter's declaration."""
        declaration = self.params.declarations()[self.param]
        assert isinstance(declaration, Number)
        return declaration

    @property
    def entry(self) -> ThresholdEntry:
        """Where the catalogue has it."""
        return next(
            (
                ThresholdEntry(source, formula, constants)
                for source in SOURCES
                for formula in source.formulas
                for constants in formula.constants
                if constants.params is self.params and self.param in constants.printed
            ),
            ThresholdEntry(),
        )

    @property
    def title(self) -> str:
        """The printed name, else the declared one."""
        return self.name or self.declaration.affects

    @property
    def use(self) -> str:
        """What it is used in: as printed, else the formula's name, else its group."""
        formula = self.entry.formula
        return self.used_in or (formula.name if formula else self.declaration.group)

    @property
    def printed_default(self) -> str:
        """The default as its source prints it; empty if the source prints none."""
        constants = self.entry.constants
        return constants.printed[self.param] if constants else ""

    @property
    def printed_range(self) -> tuple[str, str] | None:
        """The range as its source prints it; None if it prints none."""
        constants = self.entry.constants
        return constants.ranges.get(self.param) if constants else None


@dataclass(frozen=True)
class ThresholdTable:
    """The thresholds of one source."""

    system: str
    thresholds: tuple[Threshold, ...]
    printed: bool = False  # whether the source itself has this table


def _read(param: str, name: str, used_in: str) -> Threshold:
    return Threshold(RecallParams, param, name, used_in)


def _write(param: str, name: str, used_in: str) -> Threshold:
    return Threshold(WritePolicyParams, param, name, used_in)


def _thresholds(params: type[Params], *names: str) -> tuple[Threshold, ...]:
    return tuple(Threshold(params, name) for name in names)


def _of_system(system: str, *names: str) -> tuple[Threshold, ...]:
    return _thresholds(SYSTEMS[system].params, *names)


# “All Thresholds in One Place”: the fifteen rows in the paper's order, by the paper's names.
PRINTED_TABLE = ThresholdTable(
    "recall",
    (
        _read("rrf_k", "RRF k", "Retrieval fusion"),
        _write("dedup_duplicate", "Cosine dedupe (duplicate)", "Write dedup tier 2"),
        _write("dedup_escalate", "Cosine dedupe (escalate)", "Write dedup tier 2"),
        _write("consolidation", "Consolidation similarity", "Background consolidation"),
        _write("drift_distance", "Concept drift distance", "Drift detection"),
        _write("drift_overlap", "Concept drift relation overlap", "Drift detection"),
        _write("grounding_floor", "Confidence floor (grounding)", "Grounding verdict"),
        _write("confirmed_cap", "Confidence cap (confirmation)", "Confirmation update"),
        _read("freshness_floor", "Freshness floor", "Retrieval weight"),
        _read("precise_from", "Specificity precise threshold", "Query optimizer"),
        _read("exploratory_below", "Specificity exploratory threshold", "Query optimizer"),
        _read("entity_above", "Entity confidence (entity-centric plan)", "Query optimizer"),
        _read("mmr_lambda", "MMR λ", "Diversity reranking"),
        _write("index_recall", "HNSW recall@10 alert", "Index monitoring"),
        _read("min_confidence", "Min confidence (retrieval filter)", "Retrieval policies"),
    ),
    printed=True,
)
# The bounded factors of blend: those beside trust and age.
_BLEND_FACTORS = tuple(BlendParams.declarations_by_group()[BlendParams.declarations()["trust"].group])
THRESHOLD_TABLES: tuple[ThresholdTable, ...] = (
    PRINTED_TABLE,
    ThresholdTable(
        "memorysync",
        _of_system(
            "memorysync",
            *("tiebreak_sigma", "half_life_high", "half_life_medium", "half_life_low", "usage_ceiling"),
            *("personalisation_cap", "session_boost"),
        ),
    ),
    ThresholdTable(
        "adaptive",
        (
            *_thresholds(
                WritePolicyParams,
                *("belief_protected", "belief_needed", "belief_archive", "belief_boost", "belief_penalty"),
                *("corroboration_cosine", "contradiction_low", "contradiction_high"),
            ),
            *_of_system("adaptive", "belief_floor", "belief_slope"),
        ),
    ),
    ThresholdTable(
        "memsense", _of_system("memsense", "duplicate", "mmr_lambda", "tag_share", "turn_share", "turn_cap")
    ),
    ThresholdTable(
        "contextdb",
        _of_system(
            "contextdb",
            *("attenuation", "expiry_rate", "alpha", "alpha_working", "alpha_episodic", "alpha_semantic"),
            "alpha_procedural",
        ),
    ),
    ThresholdTable("blend", _of_system("blend", "abstain_below", *_BLEND_FACTORS)),
)
