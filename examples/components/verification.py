"""A measurement of a fabric that exists; the run fails if the fabric is slower than its bar."""

import pulumi

from gpu_fabric.components import (
    AddressingArgs,
    FabricArgs,
    GpuFabricArgs,
    GpuPoolArgs,
    SoftwareArgs,
    Verification,
    VerificationSettingsArgs,
)

measured = Verification(
    "train",
    GpuFabricArgs(
        kubeconfig=pulumi.Config().require_secret("kubeconfig"),
        pools=[GpuPoolArgs(name="gpu", shape="BM.GPU.H100.8", nodes=2)],
        fabric=FabricArgs(model="sriov", addressing=AddressingArgs(supernet="192.168.0.0/16")),
        software=SoftwareArgs(release_line="26.7"),
        verification=VerificationSettingsArgs(enabled=True, image="registry.example/nccl-tests:2.17.3"),
    ),
)
pulumi.export("verdict", measured.verification)
