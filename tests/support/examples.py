"""How many examples Hypothesis tries: few and the same ones in `make test`, all in `make fuzz`."""

from hypothesis import settings

FUZZ = "fuzz"  # the profile's name


def is_fuzzing() -> bool:
    """Whether this is `make fuzz`."""
    return settings.get_current_profile_name() == FUZZ


def examples(few: int, *, fuzz: int) -> int:
    """How many examples to try in `make test`, and in `make fuzz`."""
    return fuzz if is_fuzzing() else few
