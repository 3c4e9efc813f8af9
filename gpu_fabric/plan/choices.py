"""The choices of a stack: what its file states, and for the rest the defaults of the support matrix."""

from __future__ import annotations

from gpu_fabric.catalog import Catalog, DeviceAccess, Shape, Support
from gpu_fabric.catalog.shape import LinkType
from gpu_fabric.model import FrozenModel
from gpu_fabric.spec.addressing import Ipam, Layout
from gpu_fabric.spec.existing import ExistingClusterSpec
from gpu_fabric.spec.fabric import Manager, Model, RdmaMode, VirtualFunctions
from gpu_fabric.spec.stack import StackSpec


class Choices(FrozenModel):
    """Every choice made.

    `virtual_functions` is None where no pod gets one. `row` is the support matrix' row for manager and model; None
    where the matrix has no such pair.
    """

    provider: str
    manager: Manager
    model: Model
    rdma_mode: RdmaMode
    link_type: LinkType
    layout: Layout
    ipam: Ipam | None
    virtual_functions: VirtualFunctions | None
    row: Support | None

    @property
    def access(self) -> DeviceAccess | None:
        """How pods get at the NICs; None where manager and model are no row of the support matrix."""
        return self.row.access if self.row else None

    @property
    def one_pool(self) -> bool:
        """Whether the manager's own device plug-in offers all NICs of a node as one resource."""
        return self.row is not None and self.row.one_pool

    @property
    def by_sriov_operator(self) -> bool:
        """Whether the SR-IOV operator of the manager advertises the virtual functions."""
        return self.virtual_functions in ("sriov-operator", "externally-managed")

    @property
    def control_plane_apart(self) -> bool:
        """Whether it is known that the cloud keeps the control plane: every node of the cluster is a worker."""
        return self.provider in ("oke", "doks")


def choices_of(spec: StackSpec, shape: Shape, known: Catalog) -> Choices:
    """The stack's choices; the rules check whether they can be combined."""
    fabric, addressing = spec.fabric, spec.fabric.addressing
    provider = spec.cluster.provider
    profile = spec.cluster.profile if isinstance(spec.cluster, ExistingClusterSpec) else None
    cloud = None if profile is None else known.clouds.get(profile)
    by_provider = next(row.manager for row in known.support if provider in row.providers)
    usual: Manager = by_provider if cloud is None else "cloud"
    manager = fabric.manager or usual
    rows = [row for row in known.support if row.manager == manager]
    link_type = fabric.link_type or (shape.nic_model.link_type if shape.nic_model else "ether")
    of_cloud = cloud.model if cloud is not None and fabric.manager in (None, usual) else None
    model = fabric.model or of_cloud or _model_for(rows, link_type)
    row = next((row for row in rows if row.model == model), None)
    # Without a row nothing is known to need a supernet, so none is asked for.
    usual_layout: Layout = row.layouts[0] if row else "per-rail" if addressing.supernet else "none"
    # The Spectrum-X operator takes addresses from CIDRPools, and its operators create the functions.
    planes = fabric.planes.mode != "none"
    layout = addressing.layout or ("per-node" if planes else usual_layout)
    return Choices(
        provider=provider,
        manager=manager,
        model=model,
        rdma_mode=fabric.rdma_mode or (row.rdma_modes[0] if row else "shared"),
        link_type=link_type,
        layout=layout,
        ipam=addressing.ipam or next(iter(row.ipams if row else ()), None),
        virtual_functions=(
            fabric.virtual_functions
            or ("sriov-operator" if planes else _usual_virtual_functions(row, known.find(shape.name) or shape))
        )
        if row is not None and row.virtual_functions
        else None,
        row=row,
    )


def _usual_virtual_functions(row: Support, shape: Shape) -> VirtualFunctions:
    """What creates virtual functions where the stack file does not say: if possible nothing that drains a node."""
    comes_without = shape.vf_support == "host" and not shape.vfs_per_nic
    return "daemon-set" if comes_without and "daemon-set" in row.virtual_functions else row.virtual_functions[0]


def _model_for(rows: list[Support], link_type: LinkType) -> Model:
    """A manager's default model on a link layer: one with virtual functions where there is one."""
    fitting = [row for row in rows if link_type in row.link_types]
    virtual = [row for row in fitting if row.access == "virtual"]
    return next(iter(virtual + fitting + rows)).model
