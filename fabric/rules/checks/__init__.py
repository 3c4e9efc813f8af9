"""The checks of the rule book, one module per group; importing this package registers them all."""

from fabric.rules.checks import addresses, cluster, devices, nccl, networks, support

__all__ = ["addresses", "cluster", "devices", "nccl", "networks", "support"]
