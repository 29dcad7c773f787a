"""The page's rows: each threshold with its slider, its formula and the page that goes deeper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from django.urls import reverse

from memories.contracts.number_format import format_number
from memories.pages import sliders
from memories.pages.thresholds.forms import POLICY, BoardSlider, ThresholdState
from scoring.catalogue.thresholds import THRESHOLD_TABLES, Threshold, ThresholdTable
from scoring.systems import SYSTEMS


@dataclass(frozen=True)
class DeeperPage:
    """A page that shows more of a threshold, and the query string that it understands."""

    url_name: str
    title: str
    query: Callable[[ThresholdState, BoardSlider], dict[str, str]] = lambda state, slider: {}


def moved_value(state: ThresholdState, slider: BoardSlider) -> dict[str, str]:
    """The threshold where it was moved to."""
    return sliders.params_to_query({slider.name: slider.value}) if slider.changed else {}


def system_and_value(state: ThresholdState, slider: BoardSlider) -> dict[str, str]:
    """The system, and the threshold where it was moved to."""
    return {"system": slider.scope, **moved_value(state, slider)}


def start_and_value(state: ThresholdState, slider: BoardSlider) -> dict[str, str]:
    """The configuration in force, and the threshold where it was moved to."""
    return {"by": state.starts[slider.scope].label, **moved_value(state, slider)}


DEDUP = DeeperPage("dedup", "Dedup", moved_value)
DECAY = DeeperPage("decay", "Decay", system_and_value)
TUNE = DeeperPage("tune", "Tune", start_and_value)
LAB, HEALTH, GUARDS, CALIBRATE = (
    DeeperPage(title.lower(), title) for title in ("Lab", "Health", "Guards", "Calibrate")
)
DEEPER_PAGES: Mapping[str, DeeperPage] = {
    **dict.fromkeys(("dedup_duplicate", "dedup_escalate", "corroboration_cosine"), DEDUP),
    **dict.fromkeys(("consolidation", "drift_distance", "drift_overlap", "index_recall"), HEALTH),
    **dict.fromkeys(("grounding_floor", "contradiction_low", "contradiction_high"), GUARDS),
    **dict.fromkeys(("precise_from", "exploratory_below", "entity_above"), LAB),
    **dict.fromkeys(("freshness_floor", "half_life_high", "half_life_medium", "half_life_low"), DECAY),
    **dict.fromkeys(("alpha", "alpha_working", "alpha_episodic", "alpha_semantic", "alpha_procedural"), DECAY),
}


@dataclass(frozen=True)
class BoardRow:
    """One threshold."""

    state: ThresholdState
    threshold: Threshold
    slider: BoardSlider

    @property
    def label(self) -> str:
        """Its name: the paper's, else the declared one."""
        return self.threshold.name or sliders.param_label(self.threshold.declaration)

    @property
    def default_text(self) -> str:
        """The default, as its source prints it if it does."""
        printed = self.threshold.printed_default
        return format_printed(printed) if printed else format_number(self.threshold.declaration.default)

    @property
    def range_text(self) -> str:
        """The range as its source prints it: a dash in its table where it prints none; else the declared one."""
        declaration, printed = self.threshold.declaration, self.threshold.printed_range
        if printed:
            return " to ".join(map(format_printed, printed))
        if self.threshold.name:
            return "—"
        return f"{format_number(declaration.low)} to {format_number(declaration.high)}"

    @property
    def before_text(self) -> str:
        """The value in force."""
        return format_number(self.slider.default)

    @property
    def after_text(self) -> str:
        """The value it was moved to."""
        return format_number(self.slider.value)

    @property
    def served_otherwise(self) -> bool:
        """Whether another value than the default is in force."""
        return bool(self.slider.default != self.threshold.declaration.default)

    @property
    def formula_url(self) -> str:
        """Its formula in the catalogue, else its declaration."""
        source, formula = self.threshold.entry.source, self.threshold.entry.formula
        if source is not None and formula is not None:
            return f"{reverse('formulas-system', args=[source.system])}#{formula.slug}"
        if self.slider.scope == POLICY:
            return f"{reverse('formulas-write-policy')}#param-{self.slider.name}"
        return f"{reverse('formulas-system', args=[self.slider.scope])}#param-{self.slider.name}"

    @property
    def deeper(self) -> DeeperPage:
        """The page that shows more of it."""
        return DEEPER_PAGES.get(self.slider.name, CALIBRATE if self.slider.scope == POLICY else TUNE)

    @property
    def deeper_url(self) -> str:
        """Where that page shows the threshold as it is moved here."""
        query = urlencode(self.deeper.query(self.state, self.slider))
        url = reverse(self.deeper.url_name, args=[self.state.namespace.slug])
        return f"{url}?{query}" if query else url


@dataclass(frozen=True)
class BoardSection:
    """The thresholds of one source."""

    table: ThresholdTable
    rows: list[BoardRow]

    @property
    def name(self) -> str:
        """Its system."""
        return self.table.system

    @property
    def summary(self) -> str:
        """What its system does."""
        return SYSTEMS[self.table.system].summary


def format_printed(text: str) -> str:
    """A number with the decimals its source prints.

    >>> format_printed("0.60"), format_printed("60"), format_printed("0.0")
    ('.60', '60', '0')
    """
    return format_number(float(text), len(text.partition(".")[2])) if float(text) else "0"


def board_section(state: ThresholdState, table: ThresholdTable) -> BoardSection:
    """The rows of a table."""
    rows = [BoardRow(state, threshold, state.slider(table, threshold)) for threshold in table.thresholds]
    return BoardSection(table, rows)


def board_sections(state: ThresholdState) -> list[BoardSection]:
    """All tables: the printed one, then the other systems'."""
    return [board_section(state, table) for table in THRESHOLD_TABLES]


def moved_rows(state: ThresholdState, scope: str) -> list[BoardRow]:
    """The thresholds of a scope that were moved, each once."""
    rows = (row for section in board_sections(state) for row in section.rows)
    return [row for row in rows if row.slider.scope == scope and row.slider.changed]
