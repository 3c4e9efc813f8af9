"""Policies on what a stack registers, for any Pulumi program with GPU clusters; `__main__.py` assembles the pack."""
