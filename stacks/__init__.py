"""The stack program: configuration, guard, the components of a stack, and its outputs."""
