"""Units of measurement, with spelling variants mapped to one canonical name; unknown units are ignored."""

import re

UNITS = {
    spelling: name
    for name, spellings in {
        "km": "km kilometre kilometres kilometer kilometers",
        "mile": "mi mile miles",
        "metre": "metre metres meter meters",
        "cm": "cm centimetre centimetres centimeter centimeters",
        "mm": "mm millimetre millimetres millimeter millimeters",
        "foot": "ft foot feet",
        "inch": "inch inches",
        "kg": "kg kilo kilos kilogram kilograms",
        "gram": "g gram grams",
        "mg": "mg milligram milligrams",
        "pound": "lb lbs pound pounds",
        "ounce": "oz ounce ounces",
        "litre": "l litre litres liter liters",
        "ml": "ml millilitre millilitres milliliter milliliters",
        "gallon": "gallon gallons",
        "celsius": "°c celsius",
        "fahrenheit": "°f fahrenheit",
        "euro": "€ eur euro euros",
        "dollar": "$ usd dollar dollars",
        "sterling": "£ gbp",
        "crown": "sek kr crown crowns",
        "millisecond": "ms millisecond milliseconds",
        "second": "sec secs second seconds",
        "minute": "min mins minute minutes",
        "hour": "h hr hrs hour hours",
        "day": "day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years",
        "kb": "kb kilobyte kilobytes",
        "mb": "mb megabyte megabytes",
        "gb": "gb gigabyte gigabytes",
        "tb": "tb terabyte terabytes",
    }.items()
    for spelling in spellings.split()
}
# How many of a base unit a unit is.
SCALES = {
    "km": ("metre", 1_000.0),
    "cm": ("metre", 0.01),
    "mm": ("metre", 0.001),
    "kg": ("gram", 1_000.0),
    "mg": ("gram", 0.001),
    "litre": ("ml", 1_000.0),
    "minute": ("second", 60.0),
    "hour": ("second", 3_600.0),
    "day": ("second", 86_400.0),
    "week": ("second", 604_800.0),
    "millisecond": ("second", 0.001),
    "year": ("month", 12.0),
}
_MEASURE = re.compile(
    rf"(\d+(?:[.,]\d+)*)[ -]?(?:degrees )?({'|'.join(map(re.escape, sorted(UNITS, key=len, reverse=True)))})(?!\w)"
)


def measures(text: str) -> set[str]:
    """Numbers with their units.

    >>> sorted(measures("2 kilometres in 10 min, 3 times")), measures("5 °c") == measures("5 degrees celsius")
    (['10 minute', '2 km'], True)
    """
    return {f"{number} {UNITS[unit]}" for number, unit in _MEASURE.findall(text)}


def base_unit(unit: str) -> tuple[str, float]:
    """The base unit of a canonical unit, and how many of it the unit is.

    >>> base_unit("hour"), base_unit("euro")
    (('second', 3600.0), ('euro', 1.0))
    """
    return SCALES.get(unit, (unit, 1.0))
