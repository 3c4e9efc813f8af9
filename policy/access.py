"""Network access to the cluster and its machines, and the permissions of identities."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_network
from typing import Any

from pulumi_policy import ResourceValidationArgs
from pydantic import Field

from gpu_fabric.model import FrozenModel

from .definition import CRITICAL, HIGH, NoSettings, Words, resource_policy
from .reading import at, is_one_of, kind_of, many

# The protocol number of ICMP in Oracle's rules.
_ICMP = "1"


class OpenRanges(FrozenModel):
    """The prefix lengths that count as the whole internet."""

    widest: int = Field(
        default=8, ge=0, le=32, description="shortest IPv4 prefix that may come in; /0 is the whole internet"
    )
    widest6: int = Field(default=32, ge=0, le=128, description="shortest IPv6 prefix that may come in")


_API_WORDS = Words(
    "The API server, bastions and machines are not open to the internet.",
    "One leaked token is enough to take over a cluster whose API server is open to the internet.",
    "name the ranges that may come in: access.allowed on OKE, controlPlaneFirewall.allowed on DOKS.",
    "Oracle's and DigitalOcean's access documentation; example clusters elsewhere are open by default",
)


@resource_policy(
    "no-open-ingress",
    _API_WORDS,
    of=("oci:Core/*:*", "oci:Bastion/*:Bastion", "digitalocean:*:KubernetesCluster", "digitalocean:*:Firewall"),
    settings=OpenRanges,
    severity=CRITICAL,
)
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


@resource_policy(
    "api-server-access",
    Words(
        "The API server is reachable only in the way that the owner allows.",
        "A DOKS cluster without a firewall is open to the whole internet; an OKE endpoint can be entirely private.",
        "write controlPlaneFirewall.allowed (DOKS), or endpoint.public: false (OKE).",
        "DigitalOcean's documentation of the control plane's firewall; Oracle's of cluster endpoints",
    ),
    of=("digitalocean:*:KubernetesCluster", "oci:ContainerEngine/*:Cluster"),
    settings=ApiServer,
    severity=HIGH,
)
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


@resource_policy(
    "no-public-machines",
    Words(
        "Machines have no public addresses, bastions apart.",
        "Kubelets, NodePorts and the fabric's host networks would listen on the internet.",
        "put the machine into a subnet that prohibits public addresses.",
        "Oracle's documentation of subnets for OKE",
    ),
    of=("oci:Core/*:Subnet", "oci:Core/*:Instance", "oci:Core/*:InstanceConfiguration"),
    settings=PublicMachines,
    severity=HIGH,
)
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


@resource_policy(
    "no-first-metadata-service",
    Words(
        "Machines have the first version of the metadata service switched off.",
        "It hands a machine's credentials to any request from it, one forged by a pod included.",
        "set instanceOptions.areLegacyImdsEndpointsDisabled.",
        "Oracle's documentation of the instance metadata service",
    ),
    of=("oci:Core/*:Instance", "oci:Core/*:InstanceConfiguration"),
    settings=NoSettings,
    severity=HIGH,
)
def no_first_metadata_service(machine: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    details = at(machine.props, "instanceDetails", "launchDetails") or machine.props
    if not at(details, "instanceOptions", "areLegacyImdsEndpointsDisabled"):
        yield "answers the first version of the metadata service"


@resource_policy(
    "empty-default-security-list",
    Words(
        "A network's default security list is empty.",
        "Oracle fills it with SSH from everywhere, and it holds for every subnet that names no other.",
        "manage the default list, with no rules; write rules into network security groups.",
        "Oracle's documentation of default security lists",
    ),
    of=("oci:Core/*:DefaultSecurityList",),
    settings=NoSettings,
)
def empty_default_security_list(listed: ResourceValidationArgs, _settings: NoSettings) -> Iterator[str]:
    for key in ("ingressSecurityRules", "egressSecurityRules"):
        if many(listed.props.get(key)):
            yield f"has {key}"


@resource_policy(
    "narrow-identity-policies",
    Words(
        "An identity policy names what it allows, where, and on which condition.",
        "`any-user` without a condition is every user of the tenancy; all-resources is every resource in it.",
        "name a resource family and a compartment, and add a `where` to any-user.",
        "Oracle's reference of policy statements",
    ),
    of=("oci:Identity/*:Policy",),
    settings=NoSettings,
    severity=CRITICAL,
)
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


@resource_policy(
    "narrow-cluster-roles",
    Words(
        "No role covers all groups of the API, or every secret; nothing is bound to cluster-admin.",
        "A controller with such a role gives the cluster to every attacker of its pod.",
        "name the groups and resources that the controller needs.",
        "Kubernetes' good practices for role-based access",
    ),
    of=("kubernetes:rbac.authorization.k8s.io/*:*",),
    settings=Permissions,
    severity=HIGH,
)
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


@resource_policy(
    "load-balancer-ranges",
    Words(
        "A load balancer names the ranges that may come in.",
        "A Service of this type is on the internet within a minute, whatever the cluster's own rules are.",
        "set loadBalancerSourceRanges, or use a ClusterIP.",
        "Kubernetes' documentation of Services",
    ),
    of=("kubernetes:core/v1:Service",),
    settings=LoadBalancers,
    severity=HIGH,
)
def load_balancer_ranges(service: ResourceValidationArgs, settings: LoadBalancers) -> Iterator[str]:
    name = f"{at(service.props, 'metadata', 'namespace') or 'default'}/{at(service.props, 'metadata', 'name')}"
    ranges = many(at(service.props, "spec", "loadBalancerSourceRanges"))
    open_to_all = not ranges or any(_too_wide(text, OpenRanges()) is not None for text in ranges)
    if at(service.props, "spec", "type") == "LoadBalancer" and open_to_all and not is_one_of(name, settings.allowed):
        yield "is open to the whole internet"
