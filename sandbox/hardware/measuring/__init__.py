"""The verification's pods, played: what their programs would have measured, and when they end.

Nothing runs in the pods. `run` knows the nodes of a run and what is wrong with them, `results` writes what nccl-tests
and NCCL would have written there, `play` says how each pod ends, and `controller` has that written; KWOK's Stage for
pods then ends them so.
"""
