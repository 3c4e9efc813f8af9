"""Spiderpool alone, for shared RDMA on eight RoCE NICs."""

import pulumi

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    GpuFabricArgs,
    GpuPoolArgs,
    SoftwareArgs,
    Spiderpool,
)

operator = Spiderpool(
    "train",
    GpuFabricArgs(
        kubeconfig=pulumi.Config().require_secret("kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
        fabric=FabricArgs(manager="spiderpool", model="macvlan", addressing=AddressingArgs(supernet="172.16.0.0/16")),
        software=SoftwareArgs(release_line="26.7"),
    ),
)
pulumi.export("ready", operator.ready)
