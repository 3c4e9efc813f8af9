"""Finished plans with one thing wrong: what only a fault of this program can bring about."""
