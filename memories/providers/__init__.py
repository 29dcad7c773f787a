"""Embedders, extractors, judges and rerankers, each behind a protocol with an offline default."""
