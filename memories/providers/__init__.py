"""What Recall asks for help: embedders, each behind one protocol, with an offline default."""
