"""The records of machines that Oracle is asked for, by construct."""

from __future__ import annotations

from typing import ClassVar

from fabric.plan.clouds.oke.record import Id, Record, Ref, Value


class PlannedNodePool(Record):
    """A node pool whose machines Oracle makes, cycles and drains."""

    sdk: ClassVar[str] = "containerengine.NodePool"
    compartment_id: str
    cluster_id: Ref
    name: str
    kubernetes_version: str
    node_shape: str
    node_shape_config: dict[str, Value] | None = None
    node_config_details: dict[str, Value]
    node_source_details: dict[str, Value]
    initial_node_labels: list[dict[str, Value]] | None = None
    node_metadata: dict[str, Value] | None = None
    node_eviction_node_pool_settings: dict[str, Value]
    node_pool_cycling_details: dict[str, Value] | None = None


class PlannedInstanceConfiguration(Record):
    """What a construct makes its machines from. Replaced before the old one goes, which is in use until then."""

    sdk: ClassVar[str] = "core.InstanceConfiguration"
    compartment_id: str
    display_name: str
    instance_details: dict[str, Value]


class PlannedClusterNetwork(Record):
    """Machines of one RDMA island, all or none."""

    sdk: ClassVar[str] = "core.ClusterNetwork"
    compartment_id: str
    display_name: str
    instance_pools: list[dict[str, Value]]
    placement_configuration: dict[str, Value]
    cluster_configuration: dict[str, Value] | None


class PlannedInstancePool(Record):
    """Machines without an RDMA network."""

    sdk: ClassVar[str] = "core.InstancePool"
    compartment_id: str
    display_name: str
    instance_configuration_id: Ref
    placement_configurations: list[dict[str, Value]]
    size: int


class PlannedComputeCluster(Record):
    """An RDMA network that machines are placed in one by one."""

    sdk: ClassVar[str] = "core.ComputeCluster"
    compartment_id: str
    availability_domain: Id
    display_name: str
    placement_constraint_details: dict[str, Value] | None


class PlannedMemoryCluster(Record):
    """The machines of one memory fabric. Its size is grown by the scale configuration, so `size` counts once."""

    sdk: ClassVar[str] = "core.ComputeGpuMemoryCluster"
    compartment_id: str
    availability_domain: Id
    compute_cluster_id: Ref
    instance_configuration_id: Ref
    display_name: str
    gpu_memory_fabric_id: str | None
    size: str
    gpu_memory_cluster_scale_config: dict[str, Value]


class PlannedInstance(Record):
    """One machine."""

    sdk: ClassVar[str] = "core.Instance"
    compartment_id: str
    availability_domain: Id
    display_name: str
    shape: str
    shape_config: dict[str, Value] | None = None
    compute_cluster_id: Ref | None = None
    capacity_reservation_id: str | None = None
    fault_domain: str | None = None
    create_vnic_details: dict[str, Value]
    source_details: dict[str, Value]
    metadata: dict[str, Value]
    agent_config: dict[str, Value] | None = None
    instance_options: dict[str, Value]
    placement_constraint_details: dict[str, Value] | None = None
