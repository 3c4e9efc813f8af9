"""The cloud resources at Oracle: network, identity, cluster, machines and access."""

from gpu_fabric.plan.clouds.oke.machines import metadata, metadata_bytes
from gpu_fabric.plan.clouds.oke.resources import (
    OkeResources,
    PlannedConstruct,
    advice_on,
    joining_advice,
    oke_resources,
)
from gpu_fabric.plan.clouds.oke.site import Site
from gpu_fabric.plan.clouds.record import Lookup, Record, Ref, Text

__all__ = [
    "Lookup",
    "OkeResources",
    "PlannedConstruct",
    "Record",
    "Ref",
    "Site",
    "Text",
    "advice_on",
    "joining_advice",
    "metadata",
    "metadata_bytes",
    "oke_resources",
]
