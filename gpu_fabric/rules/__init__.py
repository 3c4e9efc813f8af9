"""The rule book as data, and the functions that hold a stack against it."""
