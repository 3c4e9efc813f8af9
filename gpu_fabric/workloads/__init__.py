"""The program's own workloads, generated from a stack's contract."""
