"""The address pools alone, on a cluster that has the Network Operator with its IPAM."""

import pulumi

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    GpuFabricArgs,
    GpuPoolArgs,
    IpPools,
    RangesArgs,
    SoftwareArgs,
)

pools = IpPools(
    "train",
    GpuFabricArgs(
        kubeconfig=pulumi.Config().require_secret("kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
        ranges=RangesArgs(pods="10.244.0.0/16", services="10.96.0.0/16", nodes="10.0.0.0/16"),
        fabric=FabricArgs(model="sriov", addressing=AddressingArgs(supernet="192.168.0.0/16", spare_nodes=2)),
        software=SoftwareArgs(release_line="26.7"),
    ),
)
pulumi.export("nodesThatFit", pools.address_plan.apply(lambda plan: plan["proof"]["growth"]["maxNodes"]))
