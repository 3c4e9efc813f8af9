"""Policies on what a stack registers, for any Pulumi program with GPU clusters; `serving.py` assembles the pack.

The wheel `gpu-fabric-policy` has this package as `gpu_fabric_policy`, so its modules import each other relatively.
"""

__version__ = "0.2.0"
