"""For every policy what it must pass, what it must find, and what is none of its business; the smallest of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from made_resources import (
    CHAIN,
    CONFIG_MAP,
    DOKS,
    IP_POOL,
    KEY,
    LIST,
    MACHINE,
    NAMED_BY_CONTENT,
    NAMESPACE,
    NETWORK,
    NIC_POLICY,
    OKE,
    OKE_POOL,
    PLAIN,
    POOL,
    PROVIDER,
    RELEASE,
    ROLE,
    RULE,
    SECRET,
    SERVICE,
    STATEMENTS,
    SUBNET,
    VCN,
    addresses,
    advertising,
    ingress,
    labelled,
    made,
    network,
    pods,
    release,
    waiting,
)
from recording import Registration


@dataclass(frozen=True)
class Case:
    """Resources that a policy passes, finds and leaves alone; `says` is a part of what it says of the bad ones."""

    good: tuple[Registration, ...]
    bad: tuple[Registration, ...]
    says: str
    irrelevant: tuple[Registration, ...]
    settings: dict[str, Any] = field(default_factory=dict)


def case(
    good: Registration | list[Registration],
    bad: Registration | list[Registration],
    says: str,
    irrelevant: Registration | list[Registration],
    **settings: Any,
) -> Case:
    def listed(given: Registration | list[Registration]) -> tuple[Registration, ...]:
        return tuple(given) if isinstance(given, list) else (given,)

    return Case(listed(good), listed(bad), says, listed(irrelevant), settings)


CASES: dict[str, Case] = {
    "allowed-regions": case(
        made(DOKS, {"region": "nyc2"}), made(DOKS, {"region": "atl1"}), "atl1", made(VCN), regions=["nyc*"]
    ),
    "allowed-machine-types": case(
        made(POOL, {"size": "gpu-h200x8"}),
        made(OKE_POOL, {"nodeShape": "BM.GPU.B4.8"}),
        "BM.GPU.B4.8",
        made(VCN, {"shape": "none of its business"}),
        types=["gpu-h200*"],
    ),
    "node-counts": case(
        made(POOL, {"size": "x", "nodeCount": 64.0}),
        made(POOL, {"size": "x", "nodeCount": 2.0, "maxNodes": 65.0}),
        "up to 65 nodes",
        made(VCN, {"nodeCount": 1000.0}),
    ),
    "required-tags": case(
        [made(DOKS, {"tags": ["owner:ml"]}), made(OKE, {"freeformTags": {"owner": "ml"}})],
        made(OKE, {"freeformTags": {"team": "ml"}}),
        "no tag owner",
        made("oci:Core/routeTable:RouteTable"),
        tags=["owner"],
    ),
    "exact-kubernetes-version": case(
        [made(DOKS, {"version": "1.36.1-do.0"}), made(OKE, {"kubernetesVersion": "v1.34.1"})],
        made(DOKS, {"version": "1.36"}),
        "1.36 is not exact",
        made(VCN),
    ),
    "no-upgrade-by-itself": case(
        made(DOKS, {"autoUpgrade": False}), made(DOKS, {"autoUpgrade": True}), "by itself", made(OKE)
    ),
    "time-for-bare-metal": case(
        made(DOKS, timeouts={"create": "90m"}), made(OKE_POOL), "0 minutes", made(VCN, timeouts={"create": "1m"})
    ),
    "protected-clusters": case(
        [made(DOKS, protect=True), made(POOL, protect=True)],
        [made(DOKS, protect=True), made(POOL)],
        "others of the stack are",
        [made(DOKS), made(POOL), made(VCN)],
    ),
    "no-open-ingress": case(
        [ingress("203.0.113.0/24"), ingress("0.0.0.0/0", "1"), made(LIST, {"ingressSecurityRules": []})],
        ingress("0.0.0.0/0"),
        "0.0.0.0/0",
        made(RULE, {"direction": "EGRESS", "protocol": "6", "destination": "0.0.0.0/0"}),
    ),
    "api-server-access": case(
        made(DOKS, {"controlPlaneFirewall": {"enabled": True, "allowedAddresses": ["203.0.113.4/32"]}}),
        made(DOKS),
        "no firewall",
        made(OKE, {"endpointConfig": {"isPublicIpEnabled": False}}),
        firewall=True,
    ),
    "no-public-machines": case(
        [made(SUBNET, {"prohibitPublicIpOnVnic": True}), made(MACHINE, {"displayName": "x-bastion"})],
        made(MACHINE, {"displayName": "worker", "createVnicDetails": {"assignPublicIp": "true"}}),
        "public address",
        made(VCN),
    ),
    "no-first-metadata-service": case(
        made(MACHINE, {"instanceOptions": {"areLegacyImdsEndpointsDisabled": True}}),
        made(MACHINE),
        "first version",
        made(SUBNET),
    ),
    "empty-default-security-list": case(
        made(LIST, {"ingressSecurityRules": []}),
        made(LIST, {"egressSecurityRules": [{"protocol": "all"}]}),
        "egressSecurityRules",
        made("oci:Core/securityList:SecurityList", {"egressSecurityRules": [{}]}),
    ),
    "narrow-identity-policies": case(
        made(STATEMENTS, {"statements": ["Allow any-user to use x in compartment c where request.principal.id = 'y'"]}),
        made(STATEMENTS, {"statements": ["Allow group ops to manage all-resources in tenancy"]}),
        "all-resources",
        made(ROLE),
    ),
    "narrow-cluster-roles": case(
        made(ROLE, {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["*"]}]}),
        made(f"{ROLE}Binding", {"roleRef": {"name": "cluster-admin"}}),
        "cluster-admin",
        made(NAMESPACE),
    ),
    "load-balancer-ranges": case(
        made(SERVICE, {"spec": {"type": "LoadBalancer", "loadBalancerSourceRanges": ["203.0.113.0/24"]}}),
        made(SERVICE, {"spec": {"type": "LoadBalancer"}}),
        "whole internet",
        made(SERVICE, {"spec": {"type": "ClusterIP"}}),
    ),
    "exact-chart-versions": case(release(), release(version="^26.3"), "^26.3 is not exact", made(NAMESPACE)),
    "release-options": case(release(), release(timeout=60.0), "time limit", made(NAMESPACE)),
    "chart-sources": case(
        [release(), release(chart="oci://registry.k8s.io/kueue/charts/kueue", repositoryOpts={})],
        release(repositoryOpts={"repo": "https://charts.example.com"}),
        "charts.example.com",
        made(NAMESPACE),
    ),
    "one-release-a-name": case(
        [release(), release(name="kueue", chart="kueue")],
        [release(), release(chart="./mirror/gpu-operator", name="again")],
        "chart gpu-operator",
        made(NAMESPACE),
    ),
    "one-owner-of-gpus": case(
        [
            made(DOKS, {"nvidiaGpuDevicePlugin": {"enabled": True}}),
            release(values={"devicePlugin": {"enabled": False}}),
        ],
        [made(DOKS, {"nvidiaGpuDevicePlugin": {"enabled": True}}), release()],
        "so does DOKS",
        [made(DOKS, {"nvidiaGpuDevicePlugin": {"enabled": False}}), release()],
    ),
    "known-kinds": case(
        made(IP_POOL), made("kubernetes:nv-ipam.nvidia.com/v1:IpPool"), "nv-ipam.nvidia.com/IpPool", made(VCN)
    ),
    "pinned-images": case(
        [pods({"image": "registry:5000/nvcr/pytorch:25.01-py3"}), pods({"image": f"a/b@sha256:{'0' * 64}"})],
        pods({"image": "registry:5000/nvcr/pytorch"}),
        "no tag",
        made(CONFIG_MAP, {"data": {"image": "x:latest"}}),
    ),
    "allowed-registries": case(
        PLAIN,
        # An operator's image, in the parts of its policy.
        made(NIC_POLICY, {"spec": {"nvIpam": {"image": "ipam", "repository": "quay.example.com/x", "version": "v1"}}}),
        "quay.example.com",
        made(NAMESPACE),
    ),
    "no-privileged-pods": case(
        pods({"securityContext": {"privileged": True}}, name="rdma-mode"),
        pods({"securityContext": {"privileged": True}}),
        "container c is privileged",
        made(NAMESPACE),
    ),
    "no-host-namespaces": case(
        pods({}, name="rdma-mode", hostNetwork=True), pods({}, hostPID=True), "hostPID", made(NAMESPACE)
    ),
    "few-capabilities": case(
        pods({"securityContext": {"capabilities": {"add": ["IPC_LOCK"]}}}),
        pods({"securityContext": {"capabilities": {"add": ["IPC_LOCK", "NET_ADMIN"]}}}),
        "adds NET_ADMIN",
        made(NAMESPACE),
    ),
    "requests-equal-limits": case(
        [
            pods({"resources": {"limits": {"nvidia.com/gpu": "8"}}}),
            pods({"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}}),
        ],
        pods({"resources": {"requests": {"rdma/rail_00": "1"}}}),
        "requests 1 of rdma/rail_00, with a limit of None",
        made(NAMESPACE),
    ),
    "gates-wait": case(
        waiting(waitFor="jsonpath={.status.state}=ready", timeoutSeconds="1200"),
        waiting(waitFor="jsonpath={.status.state}=ready"),
        "no time limit",
        made(IP_POOL),
    ),
    "pod-security-labels": case(
        [labelled("gpu-operator", "privileged"), labelled("kueue-system", "baseline")],
        labelled("kueue-system", None),
        "has no pod security label",
        made(CONFIG_MAP),
    ),
    "privileged-namespaces": case(
        [labelled("gpu-operator", "privileged"), labelled("jobs", "privileged"), network("a", "x/a", namespace="jobs")],
        labelled("web", "privileged"),
        "privileged pods",
        [labelled("web", "baseline"), made(CONFIG_MAP)],
    ),
    "files-by-content": case(
        made(
            CONFIG_MAP, {"metadata": {"name": NAMED_BY_CONTENT}, "immutable": True, "data": {"a": "NCCL_DEBUG=INFO\n"}}
        ),
        made(
            CONFIG_MAP, {"metadata": {"name": NAMED_BY_CONTENT}, "immutable": True, "data": {"a": "NCCL_DEBUG=WARN\n"}}
        ),
        "hash of its content",
        made(CONFIG_MAP, {"metadata": {"name": "else"}, "data": {}}),
    ),
    "advertised-resources": case(
        [advertising("rail_00"), network("rail-00", "nvidia.com/rail_00")],
        [advertising("rail_00"), network("rail-00", "nvidia.com/rail_0")],
        "nvidia.com/rail_0,",
        [advertising("rail_00"), made(CONFIG_MAP)],
    ),
    "resource-per-rail": case(
        [network("a", "x/a"), network("b", "x/b"), network("a", "x/a", namespace="training")],
        [network("a", "x/a"), network("b", "x/a")],
        "as default/a does",
        made(NETWORK),
    ),
    "whole-networks": case(
        network("rail-00", "x/a", config=CHAIN),
        network("rail-01", "x/a", config=CHAIN),
        "the name rail-00",
        made(CONFIG_MAP, {"spec": {"config": "no JSON"}}),
    ),
    "disjoint-addresses": case(
        [
            addresses("a", "192.168.0.0/20"),
            addresses("b", "192.168.16.0/20"),
            made(VCN, {"cidrBlocks": ["10.0.0.0/16"]}),
        ],
        [addresses("a", "10.0.16.0/20"), made(VCN, {"cidrBlocks": ["10.0.0.0/16"]})],
        "overlaps 10.0.0.0/16 of Vcn",
        made(SUBNET, {"cidrBlock": "10.0.0.0/24"}),
    ),
    "private-fabric": case(
        addresses("a", "172.16.0.0/16"),
        addresses("a", "198.51.0.0/20"),
        "not private",
        made("digitalocean:index/vpc:Vpc", {"ipRange": "198.51.0.0/20"}),
    ),
    "no-credentials-in-objects": case(
        made(CONFIG_MAP, {"data": {"note": "users: read the token page"}}),
        made(CONFIG_MAP, {"data": {"kubeconfig": f"users:\n- user: {{token: {'x' * 20}}}"}}),
        "data.kubeconfig",
        made(PROVIDER, {"kubeconfig": f"client-key-data: {KEY}"}),
    ),
    "no-secrets-as-resources": case(
        made(SECRET, {"metadata": {"name": "pull"}}),
        made(SECRET, {"stringData": {"password": "pw"}}),
        "has content",
        made(CONFIG_MAP, {"data": {"a": "b"}}),
    ),
    "no-default-provider": case(
        made(CONFIG_MAP),
        made(DOKS, provider="default_4_84_1"),
        "default provider",
        made("random:index/randomId:RandomId", provider="default"),
    ),
    "identified-cluster": case(
        made(PROVIDER, {"kubeconfig": "k", "clusterIdentifier": "c"}),
        made(PROVIDER, {"kubeconfig": "k"}),
        "clusterIdentifier",
        made("pulumi:providers:oci"),
    ),
    "fixed-names-delete-first": case(
        made(RELEASE, delete_before_replace=True), made(RELEASE), "before the old one", made(CONFIG_MAP)
    ),
}
