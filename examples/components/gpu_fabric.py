"""A whole fabric on a cluster that exists."""

import pulumi

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    GpuFabric,
    GpuFabricArgs,
    GpuPoolArgs,
    RangesArgs,
    SoftwareArgs,
)

fabric = GpuFabric(
    "train",
    GpuFabricArgs(
        kubeconfig=pulumi.Config().require_secret("kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
        ranges=RangesArgs(pods="10.244.0.0/16", services="10.96.0.0/16", nodes="10.0.0.0/16"),
        fabric=FabricArgs(model="sriov", addressing=AddressingArgs(supernet="172.16.0.0/16")),
        software=SoftwareArgs(release_line="26.7"),
    ),
)
pulumi.export("contract", fabric.contract)
