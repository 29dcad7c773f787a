"""Many rows at once: memories read line by line and remembered, a whole namespace told as lines and restored."""
