"""Every formula, constant and printed figure of the sources, beside what the code computes."""

from scoring.catalogue import adaptive, blend, contextdb, memorysync, memsense, recall
from scoring.catalogue.entry import Source

SOURCES: tuple[Source, ...] = tuple(
    module.SOURCE for module in (recall, memorysync, adaptive, memsense, contextdb, blend)
)
