"""NCCL's topology file and settings alone, for jobs that get their networks in another way."""

import pulumi

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    GpuFabricArgs,
    GpuPoolArgs,
    NcclFiles,
    SoftwareArgs,
)
from gpu_fabric.components.args import NcclArgs

files = NcclFiles(
    "train",
    GpuFabricArgs(
        kubeconfig=pulumi.Config().require_secret("kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
        fabric=FabricArgs(
            model="sriov",
            addressing=AddressingArgs(supernet="192.168.0.0/16"),
            nccl=NcclArgs(topology="lean", settings={"NCCL_DEBUG": "WARN"}),
        ),
        software=SoftwareArgs(release_line="26.7"),
    ),
)
pulumi.export("environment", files.contract.apply(lambda contract: contract["environment"]))
