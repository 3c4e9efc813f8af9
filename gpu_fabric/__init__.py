"""The pure core: from stack configuration to a complete plan, with no cloud, no cluster and no Pulumi."""

__version__ = "0.2.0"
