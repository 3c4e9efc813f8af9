"""The cluster that Oracle is asked for, its add-ons, and how it is reached."""

from __future__ import annotations

from typing import ClassVar, Literal

from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.clouds.oke.site import CLUSTER, KUBECONFIG, NETWORK, Site
from gpu_fabric.plan.clouds.record import Id, Lookup, Record, Ref, Text, Value

# An upgrade of the control plane and its endpoint.
_UPDATE = "120m"
_ADDON_CREATE = "30m"


class PlannedOkeCluster(Record):
    """The cluster. Changing VCN, pod network, endpoint or key replaces it."""

    sdk: ClassVar[str] = "containerengine.Cluster"
    compartment_id: str
    vcn_id: Id
    name: str
    kubernetes_version: str
    type: str
    kms_key_id: str | None
    cluster_pod_network_options: list[dict[str, Value]]
    endpoint_config: dict[str, Value]
    options: dict[str, Value]


class PlannedAddon(Record):
    """An add-on that Oracle installs. Only its version and settings can change."""

    sdk: ClassVar[str] = "containerengine.Addon"
    clashes: ClassVar[bool] = True
    on_cluster: ClassVar[bool] = True
    cluster_id: Ref
    addon_name: str
    remove_addon_resources_on_delete: bool = True
    override_existing: bool = True
    version: str | None
    configurations: list[dict[str, Value]] | None


class PlannedOkeKubeconfig(FrozenModel):
    """How the stack reaches the cluster: through a command, or with the token of a secret key.

    `server` and `authority` go into the kubeconfig; `command` prints a token of the deployer's own, for minutes.
    """

    mode: Literal["exec", "token"]
    endpoint: Literal["PRIVATE_ENDPOINT", "PUBLIC_ENDPOINT"]
    server: Text
    authority: Ref
    command: tuple[str | Ref, ...]
    token_secret: str | None


def oke_cluster_record(site: Site) -> PlannedOkeCluster:
    """The cluster's record."""
    cluster, services = site.cluster, site.cluster.ranges.services
    ranges: dict[str, Value] = {} if services is None else {"services_cidr": str(services)}
    if not site.native_pods and cluster.ranges.pods is not None:
        ranges["pods_cidr"] = str(cluster.ranges.pods)
    # Where a Service's load balancer comes to lie unless its annotations name another subnet.
    balancers: list[Value] = [site.subnet("public-lb" if "public-lb" in site.subnets else "internal-lb")]
    options: dict[str, Value] = {
        "service_lb_subnet_ids": balancers,
        "service_lb_config": {"backend_nsg_ids": [site.security_group("workers")]},
    }
    if ranges:
        options["kubernetes_network_config"] = ranges
    return PlannedOkeCluster(
        logical_name=CLUSTER,
        compartment_id=site.compartment,
        vcn_id=site.vcn,
        name=site.name,
        kubernetes_version=site.version,
        type="ENHANCED_CLUSTER" if cluster.enhanced else "BASIC_CLUSTER",
        kms_key_id=cluster.kms_key_id,
        cluster_pod_network_options=[{"cni_type": site.cni_type}],
        endpoint_config={
            "subnet_id": site.subnet("control-plane"),
            "is_public_ip_enabled": cluster.endpoint.public,
            "nsg_ids": [site.security_group("control-plane")],
        },
        options=options,
        # Oracle fills in what was left out, and none of it can change.
        ignore_changes=("options.kubernetes_network_config",),
        # Rules first, so that they outlive the nodes that a destroy drains.
        after=(NETWORK,),
        create_timeout=site.timeout,
        update_timeout=_UPDATE,
        delete_timeout=site.timeout,
        protect=cluster.protect,
    )


def oke_addons(site: Site, nodes: str) -> tuple[PlannedAddon, ...]:
    """The add-ons, which come up only where nodes are: after the node pool named `nodes`."""
    return tuple(
        PlannedAddon(
            logical_name=f"addon-{addon.name.lower()}",
            cluster_id=Ref(ref=CLUSTER),
            addon_name=addon.name,
            version=addon.version,
            configurations=[{"key": key, "value": text} for key, text in sorted(addon.configurations.items())] or None,
            after=(nodes,),
            create_timeout=_ADDON_CREATE,
        )
        for addon in site.cluster.addons
    )


def kubeconfig_lookup() -> Lookup:
    """The cluster's own kubeconfig, of which the authority is taken; its users are commands, never tokens."""
    return Lookup(
        logical_name=KUBECONFIG,
        function="containerengine.get_cluster_kube_config",
        arguments={"cluster_id": Ref(ref=CLUSTER), "endpoint": "PRIVATE_ENDPOINT", "token_version": "2.0.0"},
        outputs={"cluster_ca_cert": "content: clusters[0].cluster.certificate-authority-data"},
    )


def oke_kubeconfig(site: Site) -> PlannedOkeKubeconfig:
    """How the stack reaches the cluster."""
    wanted = site.cluster.kubeconfig
    public = (wanted.endpoint or ("public" if site.cluster.endpoint.public else "private")) == "public"
    output = "endpoints[0].public_endpoint" if public else "endpoints[0].private_endpoint"
    return PlannedOkeKubeconfig(
        mode=wanted.mode,
        endpoint="PUBLIC_ENDPOINT" if public else "PRIVATE_ENDPOINT",
        server=Text(text="https://{address}", refs={"address": Ref(ref=CLUSTER, output=output)}),
        authority=Ref(ref=KUBECONFIG, output="cluster_ca_cert"),
        command=(
            "oci",
            "ce",
            "cluster",
            "generate-token",
            "--cluster-id",
            Ref(ref=CLUSTER),
            "--region",
            site.cluster.region,
        )
        if wanted.mode == "exec"
        else (),
        token_secret=wanted.token_secret,
    )
