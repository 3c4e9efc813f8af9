"""DaemonSets that prepare the GPU nodes, where another program installs the operator and the networks."""

import pulumi

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    GpuFabricArgs,
    GpuPoolArgs,
    HostPreparation,
    SoftwareArgs,
)
from gpu_fabric.components.args import HostPreparationSettingsArgs, LosslessArgs

prepared = HostPreparation(
    "train",
    GpuFabricArgs(
        kubeconfig=pulumi.Config().require_secret("kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
        fabric=FabricArgs(
            manager="spiderpool",
            model="macvlan",
            addressing=AddressingArgs(supernet="172.16.0.0/16"),
            host_preparation=HostPreparationSettingsArgs(lossless=LosslessArgs(priority=5), disable_acs=True),
        ),
        software=SoftwareArgs(release_line="26.7"),
    ),
)
pulumi.export("ready", prepared.ready)
