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
        "pound": "lb lbs pound pounds",
        "ounce": "oz ounce ounces",
        "litre": "l litre litres liter liters",
        "ml": "ml millilitre millilitres milliliter milliliters",
        "gallon": "gallon gallons",
        "celsius": "°c celsius",
        "fahrenheit": "°f fahrenheit",
        "euro": "€ eur euro euros",
        "dollar": "$ usd dollar dollars",
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
_MEASURE = re.compile(
    rf"(\d+(?:[.,]\d+)*)[ -]?(?:degrees )?({'|'.join(map(re.escape, sorted(UNITS, key=len, reverse=True)))})(?!\w)"
)


def measures(text: str) -> set[str]:
    """Numbers with their units.

    >>> sorted(measures("2 kilometres in 10 min, 3 times")), measures("5 °c") == measures("5 degrees celsius")
    (['10 minute', '2 km'], True)
    """
    return {f"{number} {UNITS[unit]}" for number, unit in _MEASURE.findall(text)}
