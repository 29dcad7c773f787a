"""How a process that answers looks for garbage."""

import gc

SEARCHED_AFTER = 10_000  # new objects until the young ones are looked through; an answer makes some thousand


def leave_what_is_loaded() -> None:
    """What is loaded by now stays, so that nobody looks through it for garbage while an answer waits."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(SEARCHED_AFTER, *gc.get_threshold()[1:])
