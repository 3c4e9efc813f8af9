"""The ways in: a bastion host with an operator host behind it, or Oracle's Bastion service."""

from __future__ import annotations

from typing import ClassVar, Literal

from gpu_fabric.catalog.oke import SubnetName
from gpu_fabric.model import FrozenModel
from gpu_fabric.plan.clouds.oke.boot import boot_script, user_data
from gpu_fabric.plan.clouds.oke.site import CLUSTER, NETWORK, Site
from gpu_fabric.plan.clouds.oke.workers import PlannedInstance
from gpu_fabric.plan.clouds.record import Id, Record, Ref, Text, Value
from gpu_fabric.spec.oke import AccessHostSpec


class PlannedBastion(Record):
    """Oracle's Bastion service in a subnet of its own; people make sessions on demand."""

    sdk: ClassVar[str] = "bastion.Bastion"
    compartment_id: str
    bastion_type: str
    name: str
    target_subnet_id: Id
    client_cidr_block_allow_lists: list[str]
    max_session_ttl_in_seconds: int


class OkeAccess(FrozenModel):
    """Hosts or service, and the `command` that leads in: to the operator host, or to the API server's own address."""

    mode: Literal["none", "bastion-host", "bastion-service"]
    hosts: tuple[PlannedInstance, ...]
    bastion: PlannedBastion | None
    command: Text | None

    @property
    def records(self) -> tuple[Record, ...]:
        """All of them."""
        return (*self.hosts, *((self.bastion,) if self.bastion else ()))


def oke_access(site: Site) -> OkeAccess:
    """The ways in that the stack file asks for."""
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
        # People keep files on it: another key or script is no reason to make it anew.
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
