"""Nodes that change in waves while `up` runs, each proven before the next."""
