"""Network access to the cluster and its machines, and the permissions of identities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from pulumi_policy import ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import NoSettings, resource_policy
from .reading import at, is_one_of, kind_of, many

# The protocol number of ICMP in Oracle's rules.
_ICMP = "1"


class OpenRanges(FrozenModel):
    """The prefix lengths that count as the whole internet."""

    widest: int = Field(
        default=8, ge=0, le=32, description="shortest IPv4 prefix that may come in; /0 is the whole internet"
    )
    widest6: int = Field(default=32, ge=0, le=128, description="shortest IPv6 prefix that may come in")


@resource_policy("no-open-ingress", OpenRanges)
def no_open_ingress(resource: ResourceValidationArgs, settings: OpenRanges) -> Iterator[str]:
    for source in _sources(resource.resource_type, resource.props):
        if (shortest := _too_wide(source, settings)) is not None:
            yield f"lets {source} in, wider than /{shortest}"


def _sources(resource_type: str, props: Mapping[str, Any]) -> Iterator[str]:
    """The ranges that a resource admits; ICMP is left out, since path MTU discovery needs it from every address."""
    # A security group as the source is known only after its creation; it admits no range.
    by_range = props.get("sourceType") in (None, "CIDR_BLOCK")
    if props.get("direction") == "INGRESS" and props.get("protocol") != _ICMP and by_range:
        yield from filter(None, [props.get("source")])
    for rule in many(props.get("ingressSecurityRules")):
        if rule.get("protocol") != _ICMP:
            yield from filter(None, [rule.get("source")])
    yield from many(props.get("clientCidrBlockAllowLists"))
    if at(props, "controlPlaneFirewall", "enabled"):
        yield from many(at(props, "controlPlaneFirewall", "allowedAddresses"))
    if kind_of(resource_type) == "Firewall":
        for rule in many(props.get("inboundRules")):
            yield from many(rule.get("sourceAddresses"))


def _too_wide(text: str, settings: OpenRanges) -> int | None:
    """The shortest prefix allowed, where a range has a shorter one; None for what is narrow enough, or no range."""
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        return None
    shortest = settings.widest if network.version == 4 else settings.widest6
    return shortest if network.prefixlen < shortest else None


class ApiServer(FrozenModel):
    """Whether the API server must name who may reach it."""

    firewall: bool = Field(default=False, description="whether a DOKS cluster must have a firewall at its API server")
    public: bool = Field(default=True, description="whether an OKE cluster's API server may have a public address")


@resource_policy("api-server-access", ApiServer)
def api_server_access(cluster: ResourceValidationArgs, settings: ApiServer) -> Iterator[str]:
    of_doks = kind_of(cluster.resource_type) == "KubernetesCluster"
    if of_doks and settings.firewall and not at(cluster.props, "controlPlaneFirewall", "enabled"):
        yield "has no firewall at its API server"
    if at(cluster.props, "endpointConfig", "isPublicIpEnabled") and not settings.public:
        yield "has an API server with a public address"


class PublicMachines(FrozenModel):
    """Which machines may have public addresses."""

    allowed: tuple[str, ...] = Field(
        default=("*-bastion",), description="names of machines and subnets, or patterns, that may have public addresses"
    )


@resource_policy("no-public-machines", PublicMachines)
def no_public_machines(resource: ResourceValidationArgs, settings: PublicMachines) -> Iterator[str]:
    if is_one_of(resource.props.get("displayName") or resource.name, settings.allowed):
        return
    launched = at(resource.props, "instanceDetails", "launchDetails", "createVnicDetails")
    for vnic in (at(resource.props, "createVnicDetails"), launched):
        # Oracle's types take the text "true" here, and the number's types the value.
        if str(at(vnic, "assignPublicIp")).lower() == "true":
            yield "has a public address"
    if kind_of(resource.resource_type) == "Subnet" and not resource.props.get("prohibitPublicIpOnVnic"):
        yield "machines in it may have public addresses"


@resource_policy("no-first-metadata-service", NoSettings)
def no_first_metadata_service(machine: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    details = at(machine.props, "instanceDetails", "launchDetails") or machine.props
    if not at(details, "instanceOptions", "areLegacyImdsEndpointsDisabled"):
        yield "answers the first version of the metadata service"


@resource_policy("empty-default-security-list", NoSettings)
def empty_default_security_list(listed: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    for key in ("ingressSecurityRules", "egressSecurityRules"):
        if many(listed.props.get(key)):
            yield f"has {key}"


@resource_policy("narrow-identity-policies", NoSettings)
def narrow_identity_policies(policy: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    for statement in many(policy.props.get("statements")):
        if re.search(r"\ball-resources\b", statement, re.IGNORECASE):
            yield f"allows all-resources: {statement}"
        if re.search(r"\bany-user\b", statement, re.IGNORECASE) and not re.search(
            r"\bwhere\b", statement, re.IGNORECASE
        ):
            yield f"allows any-user without a condition: {statement}"


class Permissions(FrozenModel):
    """Who may do everything in the cluster."""

    administrators: tuple[str, ...] = Field(
        default=(), description="names of bindings, or patterns, that may give the role cluster-admin"
    )


@resource_policy("narrow-cluster-roles", Permissions)
def narrow_cluster_roles(role: ResourceValidationArgs, settings: Permissions) -> Iterator[str]:
    for rule in many(role.props.get("rules")):
        if "*" in many(rule.get("apiGroups")):
            yield "covers all groups of the API"
        if "" in many(rule.get("apiGroups")) and "*" in many(rule.get("resources")):
            yield "covers everything of the core group, secrets included"
    name = at(role.props, "metadata", "name") or role.name
    if at(role.props, "roleRef", "name") == "cluster-admin" and not is_one_of(name, settings.administrators):
        yield "gives the role cluster-admin"


class LoadBalancers(FrozenModel):
    """Which services may be open."""

    allowed: tuple[str, ...] = Field(
        default=(), description="namespace/name, or patterns, of services that may be open"
    )


@resource_policy("load-balancer-ranges", LoadBalancers)
def load_balancer_ranges(service: ResourceValidationArgs, settings: LoadBalancers) -> Iterator[str]:
    name = f"{at(service.props, 'metadata', 'namespace') or 'default'}/{at(service.props, 'metadata', 'name')}"
    ranges = many(at(service.props, "spec", "loadBalancerSourceRanges"))
    open_to_all = not ranges or any(_too_wide(text, OpenRanges()) is not None for text in ranges)
    if at(service.props, "spec", "type") == "LoadBalancer" and open_to_all and not is_one_of(name, settings.allowed):
        yield "is open to the whole internet"
