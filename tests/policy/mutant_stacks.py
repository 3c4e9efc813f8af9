"""For every policy a committed stack with one mistake, which that policy alone must find.

A mistake that a stack file can hold is made there; the program would refuse or never make the others, so that they are
made in what the stack registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from analysed import Settings
from made_resources import REMOVED, Change, beside, labelled, made, release, with_input, with_option

Edit = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Mutant:
    """A stack, its mistake in the file's sections or in what it registers, and settings under which it was good.

    `before` are changes of the file that are no mistake, but what the settings ask for.
    """

    stack: str
    change: Change | None = None
    edit: Edit | None = None
    before: Edit | None = None
    settings: Settings = field(default_factory=dict)


def _cluster(**entries: Any) -> Edit:
    def edit(config: dict[str, Any]) -> None:
        config["gpu-fabric:cluster"].update(entries)

    return edit


def _pool(**entries: Any) -> Edit:
    def edit(config: dict[str, Any]) -> None:
        config["gpu-fabric:cluster"]["pools"][0].update(entries)

    return edit


MUTANTS: dict[str, Mutant] = {
    "allowed-regions": Mutant(
        "doks-h200", edit=_cluster(region="atl1"), settings={"allowed-regions": {"regions": ["nyc*"]}}
    ),
    "allowed-machine-types": Mutant(
        "doks-h200",
        edit=_cluster(systemPool={"size": "s-8vcpu-16gb", "nodes": 2}),
        settings={"allowed-machine-types": {"types": ["s-4vcpu-8gb", "gpu-h200x8-*"]}},
    ),
    "node-counts": Mutant("doks-h200", edit=_pool(nodes=9), settings={"node-counts": {"perPool": 8}}),
    "required-tags": Mutant(
        "doks-h200",
        with_input("KubernetesCluster", "tags", ["team:vision"]),
        before=_cluster(tags=["owner:ml"]),
        settings={"required-tags": {"tags": ["owner"], "kinds": ["KubernetesCluster"]}},
    ),
    "exact-kubernetes-version": Mutant("doks-h200", with_input("KubernetesCluster", "version", "latest")),
    "no-upgrade-by-itself": Mutant("doks-h200", with_input("KubernetesCluster", "autoUpgrade", True)),
    "time-for-bare-metal": Mutant("oke-h100", with_option("ClusterNetwork", timeouts={"create": "20m"})),
    "protected-clusters": Mutant("oke-h200", with_option("cluster-pool-gpu", protect=False)),
    "no-open-ingress": Mutant("oke-h200", with_input("Bastion", "clientCidrBlockAllowLists", ["0.0.0.0/0"])),
    "api-server-access": Mutant(
        "oke-h100",
        with_input("Cluster", "endpointConfig|isPublicIpEnabled", True),
        settings={"api-server-access": {"public": False}},
    ),
    "no-public-machines": Mutant(
        "oke-a100", with_input("cluster-host-operator", "createVnicDetails|assignPublicIp", "true")
    ),
    "no-first-metadata-service": Mutant(
        "oke-h100", with_input("InstanceConfiguration", "instanceDetails|launchDetails|instanceOptions", REMOVED)
    ),
    "empty-default-security-list": Mutant(
        "oke-a100",
        with_input("DefaultSecurityList", "ingressSecurityRules", [{"protocol": "6", "source": "10.140.0.0/16"}]),
    ),
    "narrow-identity-policies": Mutant(
        "oke-h200", with_input("Policy", "statements|0", "Allow any-user to manage clusters in compartment id c")
    ),
    "narrow-cluster-roles": Mutant("doks-h200", with_input("ClusterRole", "rules|0|apiGroups", ["*"])),
    "load-balancer-ranges": Mutant(
        "dev",
        beside(
            made(
                "kubernetes:core/v1:Service",
                {"metadata": {"name": "grafana"}, "spec": {"type": "LoadBalancer"}},
            )
        ),
    ),
    "exact-chart-versions": Mutant("dev", with_input("Release", "version", "26.x")),
    "release-options": Mutant("dev", with_input("Release", "maxHistory", REMOVED)),
    "chart-sources": Mutant("oke-h100", with_input("Release", "repositoryOpts|repo", "https://charts.example.com")),
    "one-release-a-name": Mutant(
        "dev", with_input("network-operator-network-operator", "chart", "./more/gpu-operator")
    ),
    "one-owner-of-gpus": Mutant("doks-h200", beside(release())),
    "known-kinds": Mutant("dev", with_option("IPPool", type="kubernetes:nv-ipam.example.com/v1alpha1:IPPool")),
    "pinned-images": Mutant(
        "doks-h200",
        with_input(
            "DaemonSet", "spec|template|spec|containers|0|image", "ghcr.io/k8snetworkplumbingwg/multus-cni:latest"
        ),
    ),
    "allowed-registries": Mutant(
        "dev", with_input("NicClusterPolicy", "spec|nvIpam|repository", "quay.example.com/ipam")
    ),
    "no-privileged-pods": Mutant(
        "spiderpool-sriov",
        with_input("check-fabric-check-default", "spec|template|spec|containers|0|securityContext|privileged", True),
    ),
    "no-host-namespaces": Mutant(
        "spiderpool-sriov", with_input("check-fabric-check-default", "spec|template|spec|hostNetwork", True)
    ),
    "few-capabilities": Mutant(
        "kueue",
        with_input(
            "Deployment",
            "spec|template|spec|containers|0|securityContext",
            {"capabilities": {"add": ["SYS_ADMIN"]}},
        ),
    ),
    "requests-equal-limits": Mutant(
        "spiderpool-sriov",
        with_input(
            "check-fabric-check-default",
            "spec|template|spec|containers|0|resources|requests",
            {"spidernet.io/rail_00": "2"},
        ),
    ),
    "gates-wait": Mutant("dev", with_input("NicClusterPolicy", "metadata|annotations|pulumi.com/waitFor", REMOVED)),
    "pod-security-labels": Mutant("dev", with_input("namespaces-gpu-operator", "metadata|labels", REMOVED)),
    "privileged-namespaces": Mutant("dev", beside(labelled("web", "privileged"))),
    "files-by-content": Mutant("dev", with_input("ConfigMap", "immutable", False)),
    "advertised-resources": Mutant(
        "dev",
        with_input(
            "networks-rail-00-default",
            "metadata|annotations",
            {"k8s.v1.cni.cncf.io/resourceName": "nvidia.com/rail_99"},
        ),
    ),
    "resource-per-rail": Mutant(
        "dev",
        with_input(
            "networks-rail-00-default",
            "metadata|annotations",
            {"k8s.v1.cni.cncf.io/resourceName": "nvidia.com/rail_01"},
        ),
    ),
    "whole-networks": Mutant("dev", with_input("networks-rail-00-default", "spec|config", "{")),
    "disjoint-addresses": Mutant(
        "dev", with_input("ip-pools-rail-01-nvidia-network-operator", "spec|subnet", "192.168.0.0/20")
    ),
    "private-fabric": Mutant(
        "dev", with_input("ip-pools-rail-00-nvidia-network-operator", "spec|subnet", "203.0.112.0/20")
    ),
    "no-credentials-in-objects": Mutant(
        "dev", with_input("Release", "values|token", "nvapi-0123456789abcdefghij0123456789")
    ),
    "no-secrets-as-resources": Mutant(
        "dev",
        beside(made("kubernetes:core/v1:Secret", {"metadata": {"name": "pull"}, "stringData": {"password": "pw"}})),
    ),
    "no-default-provider": Mutant("dev", with_option("ConfigMap", provider="default_4_25_0")),
    "identified-cluster": Mutant("dev", with_input("cluster-kubernetes", "clusterIdentifier", REMOVED)),
    "fixed-names-delete-first": Mutant("dev", with_option("Release", delete_before_replace=False)),
}
