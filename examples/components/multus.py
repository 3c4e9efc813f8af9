"""Multus alone, for DigitalOcean's nodes, whose cloud installs the device plug-ins itself."""

import pulumi

from gpu_fabric.components import FabricArgs, GpuFabricArgs, GpuPoolArgs, Multus, SoftwareArgs
from gpu_fabric.components.args import MultusSettingsArgs

multus = Multus(
    "train",
    GpuFabricArgs(
        kubeconfig=pulumi.Config().require_secret("kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="gpu-h200x8-1128gb-fabric-contracted", nodes=4)],
        fabric=FabricArgs(model="host-device", manager="doks"),
        software=SoftwareArgs(multus=MultusSettingsArgs(memory="1Gi")),
    ),
)
pulumi.export("ready", multus.ready)
