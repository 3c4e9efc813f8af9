"""Networks and the resources that they request."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pulumi_policy import PolicyResource, ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import NoSettings, Violation, resource_policy, stack_policy
from .reading import NETWORKS, at, is_one_of, many, mappings, object_name, of_kind, parsed

RESOURCE_ANNOTATION = "k8s.v1.cni.cncf.io/resourceName"
_OFFERING = ("NicClusterPolicy", "NicNodePolicy", "SriovNetworkNodePolicy", "Release", "AdoptedSections")


class Offered(FrozenModel):
    """Resources that the cluster already offers, in addition to those that the stack installs."""

    elsewhere: tuple[str, ...] = Field(
        default=(), description="resources, or patterns, that something outside the stack advertises"
    )


@stack_policy("advertised-resources", Offered)
def advertised_resources(resources: list[PolicyResource], settings: Offered) -> Iterator[Violation]:
    offered = {name for resource in of_kind(resources, *_OFFERING) for name in _advertised(resource)}
    # A stack that advertises nothing uses what the cluster offers, which `up` compares.
    for network in of_kind(resources, *NETWORKS) if offered else ():
        for name in _asked(network):
            if name.rpartition("/")[2] not in offered and not is_one_of(name, settings.elsewhere):
                yield Violation(f"asks for {name}, which nothing in the stack advertises", network.urn)


@stack_policy("resource-per-rail", NoSettings)
def resource_per_rail(resources: list[PolicyResource], _settings: NoSettings) -> Iterator[Violation]:
    owners: dict[tuple[str, str], str] = {}
    for network in of_kind(resources, *NETWORKS):
        own = object_name(network.props, network.name)
        place = at(network.props, "spec", "networkNamespace") or own.partition("/")[0]
        for name in _asked(network):
            other = owners.setdefault((place, name), own)
            if other != own:
                yield Violation(f"asks for {name}, as {other} does", network.urn)


def _advertised(resource: PolicyResource) -> Iterator[str]:
    """Names of resources, without their prefix, that a device plug-in's configuration has."""
    for part in mappings(resource.props):
        if isinstance(part.get("resourceName"), str):
            yield part["resourceName"].rpartition("/")[2]
    # The chart of the old release line has entries of its own kind.
    for entry in many(at(resource.props, "values", "sriovDevicePlugin", "resources")):
        yield entry["name"]


def _asked(network: PolicyResource) -> Iterator[str]:
    """The resources that a network requests."""
    annotated = at(network.props, "metadata", "annotations", RESOURCE_ANNOTATION)
    spec = at(network.props, "spec") or {}
    parts = [spec, *(part for part in spec.values() if isinstance(part, Mapping))]
    yield from {name for name in (annotated, *(part.get("resourceName") for part in parts)) if name}


@resource_policy("whole-networks", NoSettings)
def whole_networks(network: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    config = parsed(at(network.props, "spec", "config"))
    if not isinstance(config, dict):
        yield "its configuration is not a JSON object"
        return
    name = at(network.props, "metadata", "name")
    # Multus gives a configuration without a name that of its object.
    if config.get("name") not in (None, name):
        yield f"its configuration has the name {config.get('name')}"
    plugins = many(config.get("plugins")) or [config]
    if untyped := [number for number, plugin in enumerate(plugins) if not at(plugin, "type")]:
        yield f"plug-ins {untyped} have no type"
