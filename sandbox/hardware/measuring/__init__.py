"""Simulated pods of the verification: the measurements of their programs, and when they end.

Nothing runs in the pods. `run` has the nodes of a run and their faults, `results` writes the output that nccl-tests and
NCCL would have written, `play` decides how each pod ends, and `controller` writes that to the pods; KWOK's Stage for
pods then ends them accordingly.
"""
