"""A cluster at Oracle, and a fabric on it that can be destroyed without the cluster."""

import pulumi

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    GpuFabric,
    GpuFabricArgs,
    GpuPoolArgs,
    OkeCluster,
    OkeClusterArgs,
    OkePoolArgs,
    RangesArgs,
    SoftwareArgs,
)

config = pulumi.Config()
ranges = RangesArgs(pods="10.240.0.0/12", services="10.96.0.0/16", nodes="10.140.0.0/16")
cluster = OkeCluster(
    "train",
    OkeClusterArgs(
        region="us-ashburn-1",
        compartment_id=config.require("compartment"),
        tenancy_id=config.require("tenancy"),
        version="1.27.2",
        settings={
            "tenancyOcid": config.require("tenancy"),
            "userOcid": config.require_secret("user"),
            "fingerprint": config.require_secret("fingerprint"),
            "privateKey": config.require_secret("privateKey"),
        },
        pools=[OkePoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=4, availability_domain="AD-1")],
        ranges=ranges,
    ),
)
fabric = GpuFabric(
    "train-fabric",
    GpuFabricArgs(
        kubeconfig=cluster.kubeconfig,
        cluster_id=cluster.cluster_id,
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=4)],
        ranges=ranges,
        fabric=FabricArgs(model="sriov", addressing=AddressingArgs(supernet="192.168.0.0/16", gateway="first")),
        software=SoftwareArgs(release_line="23.10"),
    ),
    pulumi.ResourceOptions(depends_on=[cluster]),
)
pulumi.export("contract", fabric.contract)
