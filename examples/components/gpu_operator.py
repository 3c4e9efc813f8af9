"""The GPU Operator alone, in the version and with the values of the fabric's release line."""

import pulumi

from gpu_fabric.components import FabricArgs, GpuFabricArgs, GpuOperator, GpuPoolArgs, SoftwareArgs
from gpu_fabric.components.args import AddressingArgs, GpuOperatorSettingsArgs

operator = GpuOperator(
    "train",
    GpuFabricArgs(
        kubeconfig=pulumi.Config().require_secret("kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
        fabric=FabricArgs(model="sriov", addressing=AddressingArgs(supernet="192.168.0.0/16")),
        software=SoftwareArgs(release_line="26.7", gpu_operator=GpuOperatorSettingsArgs(dcgm_exporter=False)),
    ),
)
pulumi.export("ready", operator.ready)
