"""How well memories come back: public data through the write path and the read path, without a language model."""
