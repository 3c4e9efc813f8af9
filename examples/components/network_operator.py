"""The Network Operator after a GPU Operator, as two components: networks come from elsewhere."""

import pulumi

from gpu_fabric.components import FabricArgs, GpuFabricArgs, GpuOperator, GpuPoolArgs, NetworkOperator, SoftwareArgs
from gpu_fabric.components.args import AddressingArgs

args = GpuFabricArgs(
    kubeconfig=pulumi.Config().require_secret("kubeconfig"),
    pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
    fabric=FabricArgs(model="sriov", addressing=AddressingArgs(supernet="192.168.0.0/16")),
    software=SoftwareArgs(release_line="26.7"),
)
gpus = GpuOperator("gpus", args)
nics = NetworkOperator("nics", args, pulumi.ResourceOptions(depends_on=[gpus]))
pulumi.export("ready", nics.ready)
