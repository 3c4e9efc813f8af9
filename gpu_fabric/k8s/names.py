"""Names of labels and annotations of workloads, pods, networks and nodes."""

RESOURCE_NAME_ANNOTATION = "k8s.v1.cni.cncf.io/resourceName"
"""On a NetworkAttachmentDefinition: the extended resource whose device id the CNI plug-in receives."""

DEFAULT_NETWORK_ANNOTATION = "v1.multus-cni.io/default-network"
"""On a pod: the network of its own first interface, as namespace/name."""

NETWORKS_ANNOTATION = "k8s.v1.cni.cncf.io/networks"
"""On a pod: the networks to attach."""

RDMA_RESOURCE_INJECT_ANNOTATION = "cni.spidernet.io/rdma-resource-inject"
"""On a SpiderMultusConfig: its group. On a pod or namespace: the group to attach, with every network's resource."""

NETWORK_RESOURCE_INJECT_ANNOTATION = "cni.spidernet.io/network-resource-inject"
"""The same, for groups in which some networks have no resource."""

WAY_LABEL = "gpu-fabric.dev/nics"
"""On a node: what hands out its NICs while waves take nodes from one manager to another, `plugin` or `claims`."""

RAIL_TAINT = "gpu-fabric.dev/rail-not-ready"
"""The key of the taint of a NIC whose rail is closed."""

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
"""The label of a workload that names its queue."""

PREFERRED_TOPOLOGY = "kueue.x-k8s.io/podset-preferred-topology"
"""The annotation of a pod template that names the topology level within which its pods should be placed."""

REQUIRED_TOPOLOGY = "kueue.x-k8s.io/podset-required-topology"
"""The same for a level within which they must be placed."""

TOPOLOGY_ANNOTATIONS = (
    PREFERRED_TOPOLOGY,
    REQUIRED_TOPOLOGY,
    "kueue.x-k8s.io/podset-unconstrained-topology",
)
"""All annotations of that kind; Kueue refuses a template with more than one of them."""

FABRIC_READY = "gpu-fabric.dev/FabricReady"
"""The type of a node's condition that says whether its fabric is proved."""

HOSTNAME_LABEL = "kubernetes.io/hostname"
