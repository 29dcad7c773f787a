"""Every scoring system by its name. To add one: write its module, name it here."""

from collections.abc import Mapping

from scoring.systems import adaptive, blend, contextdb, memorysync, memsense, recall
from scoring.systems.system import System

SYSTEMS: Mapping[str, System] = {
    module.SYSTEM.name: module.SYSTEM for module in (recall, memorysync, adaptive, memsense, contextdb, blend)
}
