"""The Tune page: the metric moves with the slider."""
