"""The Tune page: sliders with live metrics over a judged set."""
