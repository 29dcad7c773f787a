"""Formulas, constants and printed values of the sources, next to what the code computes."""

from scoring.catalogue import adaptive, blend, contextdb, memorysync, memsense, recall
from scoring.catalogue.entry import CatalogueSource

SOURCES: tuple[CatalogueSource, ...] = tuple(
    module.SOURCE for module in (recall, memorysync, adaptive, memsense, contextdb, blend)
)
