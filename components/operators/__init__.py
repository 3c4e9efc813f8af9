"""Operators: one component each."""
