"""Address pools and networks, on a cluster whose operators another program installs."""

import pulumi

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    FabricNetworks,
    GpuFabricArgs,
    GpuPoolArgs,
    IpPools,
    SoftwareArgs,
)
from gpu_fabric.components.args import OfferedNamespaceArgs

args = GpuFabricArgs(
    kubeconfig=pulumi.Config().require_secret("kubeconfig"),
    pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
    fabric=FabricArgs(
        model="sriov",
        addressing=AddressingArgs(supernet="192.168.0.0/16"),
        namespaces=[OfferedNamespaceArgs(name="training", create=True)],
    ),
    software=SoftwareArgs(release_line="26.7"),
)
pools = IpPools("pools", args)
networks = FabricNetworks("networks", args, pulumi.ResourceOptions(depends_on=[pools]))
pulumi.export("networks", networks.networks)
