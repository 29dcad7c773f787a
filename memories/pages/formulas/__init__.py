"""The Formulas pages: formulas, constants, and printed values next to the computed ones."""
