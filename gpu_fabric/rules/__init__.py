"""The rule book as data, and the functions that check a stack by it."""
