"""The cluster at Oracle, its add-ons and kubeconfig, and the hosts or the service through which users connect."""

from __future__ import annotations

from typing import ClassVar, Literal

from gpu_fabric.catalog.oke import SubnetName
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.clouds.oke.boot import boot_script, user_data
from gpu_fabric.plan.clouds.oke.identity import autoscaler_policies
from gpu_fabric.plan.clouds.oke.machines import PlannedInstance
from gpu_fabric.plan.clouds.oke.site import AUTOSCALER, CLUSTER, KUBECONFIG, NETWORK, Site
from gpu_fabric.plan.clouds.record import Id, Lookup, Record, Ref, Text, Value
from gpu_fabric.spec.oke import AccessHostSpec, ManagedAddonSpec

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
    """How the stack connects to the cluster: with a command, or with the token of a secret key.

    `server` and `authority` are written into the kubeconfig; `command` prints a short-lived token of the deployer.
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
    # The subnet of a Service's load balancer unless its annotations name another one.
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
        # Oracle fills in omitted values, and none of them can change.
        ignore_changes=("options.kubernetes_network_config",),
        # The security rules must exist until a destroy has drained the nodes.
        after=(NETWORK,),
        create_timeout=site.timeout,
        update_timeout=_UPDATE,
        delete_timeout=site.timeout,
        protect=cluster.protect,
    )


def oke_addons(site: Site, nodes: str) -> tuple[PlannedAddon, ...]:
    """The add-ons, which start only on nodes: after the node pool named `nodes`.

    Pools that scale need the autoscaler, whose other settings are those of the stack file's add-on of this name.
    """
    scaled = site.scaled_pools
    stated = site.cluster.addons
    if scaled and all(addon.name != AUTOSCALER for addon in stated):
        stated = (*stated, ManagedAddonSpec(name=AUTOSCALER))
    return tuple(_addon(site, addon, nodes) for addon in stated)


def _addon(site: Site, addon: ManagedAddonSpec, nodes: str) -> PlannedAddon:
    settings: dict[str, Value] = {**addon.configurations}
    after: tuple[str, ...] = (nodes,)
    if addon.name == AUTOSCALER and site.scaled_pools:
        # Oracle's documentation, configuration arguments of the add-on: bounds and id of each node pool, with commas.
        # The identity of the add-on's own pods may do this; that of the nodes would be any pod's.
        settings |= {"authType": "workload", "nodes": _bounds(site)}
        after = (nodes, *autoscaler_policies(site))
    return PlannedAddon(
        logical_name=f"addon-{addon.name.lower()}",
        cluster_id=Ref(ref=CLUSTER),
        addon_name=addon.name,
        version=addon.version,
        configurations=[{"key": key, "value": text} for key, text in sorted(settings.items())] or None,
        after=after,
        create_timeout=_ADDON_CREATE,
    )


def _bounds(site: Site) -> Text:
    bounds = {pool.name: pool.auto_scale for pool in site.scaled_pools if pool.auto_scale is not None}
    return Text(
        text=", ".join(f"{each.min_nodes}:{each.max_nodes}:{{{name}}}" for name, each in bounds.items()),
        refs={name: Ref(ref=f"pool-{name}") for name in bounds},
    )


def kubeconfig_lookup() -> Lookup:
    """The look-up of the cluster's kubeconfig, for its certificate authority; its users are commands, never tokens."""
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


class PlannedBastion(Record):
    """Oracle's Bastion service in its own subnet; users create sessions on demand."""

    sdk: ClassVar[str] = "bastion.Bastion"
    compartment_id: str
    bastion_type: str
    name: str
    target_subnet_id: Id
    client_cidr_block_allow_lists: list[str]
    max_session_ttl_in_seconds: int


class OkeAccess(FrozenModel):
    """Hosts or service, and the `command` that connects to the operator host or to the API server's address."""

    mode: Literal["none", "bastion-host", "bastion-service"]
    hosts: tuple[PlannedInstance, ...]
    bastion: PlannedBastion | None
    command: Text | None

    @property
    def records(self) -> tuple[Record, ...]:
        """All records."""
        return (*self.hosts, *((self.bastion,) if self.bastion else ()))


def oke_access(site: Site) -> OkeAccess:
    """The access that the stack file requests."""
    access = site.cluster.access
    if access.mode == "bastion-host":
        bastion = _host(site, "bastion", access.bastion, {})
        operator = _host(site, "operator", access.operator, _operator_metadata(site))
        return OkeAccess(mode=access.mode, hosts=(bastion, operator), bastion=None, command=_ssh(site))
    if access.mode == "bastion-service":
        service = PlannedBastion(
            logical_name="bastion",
            compartment_id=site.compartment,
            bastion_type="STANDARD",
            # Letters and digits only.
            name="".join(letter for letter in site.name if letter.isalnum()),
            target_subnet_id=site.subnet("bastion-service"),
            client_cidr_block_allow_lists=[str(network) for network in access.allowed],
            max_session_ttl_in_seconds=access.session_seconds,
        )
        return OkeAccess(mode=access.mode, hosts=(), bastion=service, command=_session(site))
    return OkeAccess(mode="none", hosts=(), bastion=None, command=None)


def _host(site: Site, name: SubnetName, host: AccessHostSpec, metadata: dict[str, Value]) -> PlannedInstance:
    assert host.image_id is not None, "a host without an image was refused"
    public = "true" if name in site.public_subnets else "false"
    keys: dict[str, Value] = {"ssh_authorized_keys": "\n".join(site.cluster.access.ssh_public_keys), **metadata}
    return PlannedInstance(
        logical_name=f"host-{name}",
        compartment_id=site.compartment,
        availability_domain=site.availability_domain(None),
        display_name=f"{site.name}-{name}",
        shape=host.shape,
        shape_config={"ocpus": host.ocpus, "memory_in_gbs": host.memory_gib},
        create_vnic_details={
            "subnet_id": site.subnet(name),
            "nsg_ids": [site.security_group(name)],
            "assign_public_ip": public,
        },
        source_details={
            "source_type": "image",
            "source_id": host.image_id,
            "boot_volume_size_in_gbs": str(host.boot_volume_gib),
        },
        metadata=keys,
        instance_options={"are_legacy_imds_endpoints_disabled": True},
        # Users keep files on the host: a changed key or script must not replace it.
        ignore_changes=("metadata",),
        after=(NETWORK,),
    )


def _operator_metadata(site: Site) -> dict[str, Value]:
    settings = {"LOGIN": site.cluster.access.operator.user, "REGION": site.cluster.region}
    return {"cluster_id": Ref(ref=CLUSTER), "user_data": user_data(boot_script("operator", settings))}


def _ssh(site: Site) -> Text:
    access = site.cluster.access
    return Text(
        text=f"ssh -J {access.bastion.user}@{{bastion}} {access.operator.user}@{{operator}}",
        refs={
            "bastion": Ref(ref="host-bastion", output="public_ip"),
            "operator": Ref(ref="host-operator", output="private_ip"),
        },
    )


def _session(site: Site) -> Text:
    return Text(
        text="oci bastion session create-port-forwarding --bastion-id {bastion} --target-private-ip {address} "
        f"--target-port 6443 --session-ttl {site.cluster.access.session_seconds} --ssh-public-key-file FILE "
        f"--region {site.cluster.region}",
        refs={
            "bastion": Ref(ref="bastion"),
            "address": Ref(ref=CLUSTER, output="apiserver_host"),
        },
    )
