"""Oracle: network, identity, cluster, machines and access as they are asked for."""

from gpu_fabric.plan.clouds.oke.advice import Advice, advice_on, joining_advice
from gpu_fabric.plan.clouds.oke.machines import metadata, metadata_bytes
from gpu_fabric.plan.clouds.oke.resources import OkeResources, PlannedConstruct, oke_resources
from gpu_fabric.plan.clouds.oke.site import Site
from gpu_fabric.plan.clouds.record import Id, Lookup, Record, Ref, Text, Value, references_in

__all__ = [
    "Advice",
    "Id",
    "Lookup",
    "OkeResources",
    "PlannedConstruct",
    "Record",
    "Ref",
    "Site",
    "Text",
    "Value",
    "advice_on",
    "joining_advice",
    "metadata",
    "metadata_bytes",
    "oke_resources",
    "references_in",
]
