"""Rails: the k-th RDMA NIC of every node, with every name that belongs to it."""

from __future__ import annotations

from fabric.catalog import Shape
from fabric.k8s.device_plugin import DeviceSelectors, SriovDevicePluginConfig, SriovResource
from fabric.model import FrozenModel
from fabric.plan.addresses import AddressPlan

RESOURCE_PREFIX = "nvidia.com"


class Rail(FrozenModel):
    """One rail. The pod's request, the device plug-in's selector and the network all come from this record.

    `pci`, `rdma_device` and `interface` are the physical function's on the host; `resource` has no prefix.
    """

    index: int
    network: str
    resource: str
    pool: str
    pci: str
    rdma_device: str
    interface: str
    nearest_gpu: int

    @property
    def resource_name(self) -> str:
        """The extended resource as a pod requests it."""
        return f"{RESOURCE_PREFIX}/{self.resource}"


def plan_rails(shape: Shape, addresses: AddressPlan) -> tuple[Rail, ...]:
    """One rail per RDMA NIC of the shape, in NIC order; network, resource and pool follow the address layout."""
    rails = []
    for index, nic in enumerate(shape.nics):
        pool = addresses.pool_of(index)
        shared = len(pool.rails) > 1
        rails.append(
            Rail(
                index=index,
                network=pool.name,
                # The guide's own name for the one resource; per rail, the plug-in's grammar allows no dash.
                resource="sriov_rdma_vf" if shared else pool.name.replace("-", "_"),
                pool=pool.name,
                pci=nic.pci,
                rdma_device=nic.rdma_device,
                interface=nic.interface,
                nearest_gpu=nic.nearest_gpu,
            )
        )
    return tuple(rails)


def device_plugin_config(shape: Shape, rails: tuple[Rail, ...]) -> SriovDevicePluginConfig:
    """One resource per resource name of the rails.

    A rail of its own is selected by the PCI address of its physical function: interface names differ between node
    images, addresses do not.
    """
    nic = shape.nic_model
    addresses: dict[str, list[str]] = {}
    for rail in rails:
        addresses.setdefault(rail.resource, []).append(rail.pci)
    return SriovDevicePluginConfig(
        resource_list=tuple(
            SriovResource(
                resource_prefix=RESOURCE_PREFIX,
                resource_name=resource,
                selectors=DeviceSelectors(
                    vendors=(nic.vendor_id,),
                    devices=(nic.vf_device_id,),
                    drivers=(nic.driver,),
                    root_devices=tuple(pci),
                    is_rdma=True,
                ),
            )
            for resource, pci in addresses.items()
        )
    )
