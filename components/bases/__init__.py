"""What public components have in common: arguments, plan, providers and outputs. Programs do not import it."""
