"""Compositions: which components make a stack, in which order, and what the stack gives out."""
