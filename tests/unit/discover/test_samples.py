"""Excerpts of real output, as guides and documentation of the tools show them."""

import re
from pathlib import Path

import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.discover.discovery import discovered, read_files
from gpu_fabric.discover.stack_file import Discovered, StackFileOptions, stack_text
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import document_of

# The Spiderpool guides, of a host with a ConnectX-5.
RDMA_LINK = """\
$ rdma link
      link mlx5_0/1 state ACTIVE physical_state LINK_UP netdev ens6f0np0
      link mlx5_1/1 state ACTIVE physical_state LINK_UP netdev ens6f1np1
"""
LSPCI = """\
$ lspci -nn | grep Mellanox
86:00.0 Infiniband controller [0207]: Mellanox Technologies MT27800 Family [ConnectX-5] [15b3:1017]
86:00.1 Infiniband controller [0207]: Mellanox Technologies MT27800 Family [ConnectX-5] [15b3:1017]
"""
# DPDK's page on mlx5: two ports, and a virtual function without an interface.
IBDEV2NETDEV = """\
# ibdev2netdev -v
0000:02:00.0 mlx5_0 (MT4115 - MT1523X04353) CX456A - ConnectX-4 QSFP fw 12.23.1020 port 1 (ACTIVE) ==> enp2s0f0 (Up)
0000:02:00.1 mlx5_1 (MT4115 - MT1523X04353) CX456A - ConnectX-4 QSFP fw 12.23.1020 port 1 (ACTIVE) ==> enp2s0f1 (Down)
0000:02:00.5 mlx5_2 (MT4116 - NA)  fw 12.23.1020 port 1 (DOWN  ) ==>
"""
# A page with Lustre's suffix behind the state.
LUSTRE = (
    "0000:b8:00.1 mlx5_13 (MT4123 - MCX653106A-ECAT) ConnectX-6 VPI adapter card, 100Gb/s (HDR100, EDR IB and 100GbE), "
    "dual-port QSFP56 fw 20.26.4012 port 1 (ACTIVE) ==> ib4 (Up) (o2ib)\n"
)
# iproute2 4.x, and a port of InfiniBand.
OLD_LINK = """\
0/1: mlx5_0/1: subnet_prefix fe80:0000:0000:0000 lid 13399 sm_lid 49151 lmc 0 state ACTIVE physical_state LINK_UP
1/1: mlx5_1/1: state DOWN physical_state DISABLED netdev ens1f1np1
"""
# A matrix of an earlier driver: NICs by their names, no legend of them, no columns of NUMA nodes.
OLD_TOPO = """\
	GPU0	GPU1	mlx5_0	mlx5_1	CPU Affinity
GPU0	 X 	NV2	PIX	SYS	0-19
GPU1	NV2	 X 	SYS	PXB	20-39
mlx5_0	PIX	SYS	 X 	SYS
mlx5_1	SYS	PXB	SYS	 X

Legend:

  X    = Self
"""
# What lspci of pciutils 3.9.0 prints of one machine (the dump of two configuration spaces), by its options.
REAL_LSPCI = {
    "": """\
18:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
19:00.0 3D controller: NVIDIA Corporation GH100[H100 SXM5 80GB] (rev a1)
""",
    "-n": "18:00.0 0207: 15b3:1021\n19:00.0 0302: 10de:2330 (rev a1)\n",
    "-D -nn -k": """\
0000:18:00.0 Infiniband controller [0207]: Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]
	Subsystem: Mellanox Technologies Device [15b3:0041]
0000:19:00.0 3D controller [0302]: NVIDIA Corporation GH100[H100 SXM5 80GB] [10de:2330] (rev a1)
	Subsystem: NVIDIA Corporation Device [10de:16c1]
""",
    "-v": """\
18:00.0 Infiniband controller: Mellanox Technologies MT2910 Family [ConnectX-7]
	Subsystem: Mellanox Technologies Device 0041
	Flags: bus master, fast devsel, latency 0, IRQ 255
	Memory at <ignored> (64-bit, prefetchable) [disabled]

19:00.0 3D controller: NVIDIA Corporation GH100[H100 SXM5 80GB] (rev a1)
	Subsystem: NVIDIA Corporation Device 16c1
""",
    "-vmm": """\
Slot:	18:00.0
Class:	Infiniband controller
Vendor:	Mellanox Technologies
Device:	MT2910 Family [ConnectX-7]
SVendor:	Mellanox Technologies
SDevice:	Device 0041

Slot:	19:00.0
Class:	3D controller
Vendor:	NVIDIA Corporation
Device:	GH100[H100 SXM5 80GB]
SVendor:	NVIDIA Corporation
SDevice:	Device 16c1
Rev:	a1
""",
    "-vmm -n": """\
Slot:	18:00.0
Class:	0207
Vendor:	15b3
Device:	1021

Slot:	19:00.0
Class:	0302
Vendor:	10de
Device:	2330
Rev:	a1
""",
}
# A preset of k8s-launch-kit, which is one group alone.
PRESET = """\
machineType: PowerEdge-XE9680
productType: NVIDIA-H200
pfs:
  - deviceID: a2dc
    rdmaDevice: rocep26s0f0
    pciAddress: 0000:1a:00.0
    networkInterface: eth2
    traffic: east-west
    rail: 0
    connectedGPU: GPU0
    gpuProximity: PIX
  - deviceID: a2dc
    rdmaDevice: ""
    pciAddress: 0000:9d:00.1
    networkInterface: eth8
    traffic: north-south
    connectedGPU: GPU4
    gpuProximity: PIX
"""


def machine(**files: str) -> Discovered:
    return discovered(read_files({name: text.encode() for name, text in files.items()}), catalog())


def test_the_guides_host_with_a_connectx_5_is_read() -> None:
    found = machine(link=RDMA_LINK)

    assert [(nic.rdma_device, nic.interface, nic.link_type) for nic in found.choice.rails] == [
        ("mlx5_0", "ens6f0np0", "ether"),
        ("mlx5_1", "ens6f1np1", "ether"),
    ]
    model = machine(pci=LSPCI).machine.fields["nicModel"]
    assert model == {
        "model": "ConnectX-5", "vendorId": "15b3", "deviceId": "1017", "vfDeviceId": "1018", "driver": "mlx5_core",
        "linkType": "infiniband",
    }  # fmt: skip


@pytest.mark.parametrize("options", REAL_LSPCI)
def test_every_form_of_lspcis_output_has_the_same_machine(options: str) -> None:
    found = machine(pci=REAL_LSPCI[options])

    assert found.machine.fields["gpus"] == {
        "vendor": "nvidia", "model": "H100", "count": 1, "memoryGb": 80, "pci": ["0000:19:00.0"],
    }  # fmt: skip
    assert found.machine.fields["nicModel"] == {
        "model": "ConnectX-7", "vendorId": "15b3", "deviceId": "1021", "vfDeviceId": "101e", "driver": "mlx5_core",
        "linkType": "infiniband",
    }  # fmt: skip
    assert [nic.pci for nic in found.choice.rails] == ["0000:18:00.0"]


def test_a_virtual_function_in_the_list_of_ibdev2netdev_is_no_nic() -> None:
    found = machine(net=IBDEV2NETDEV)

    assert [(nic.pci, nic.rdma_device, nic.interface) for nic in found.node.nics] == [
        ("0000:02:00.0", "mlx5_0", "enp2s0f0"),
        ("0000:02:00.1", "mlx5_1", "enp2s0f1"),
    ]
    assert found.node.virtual_functions == 1
    assert machine(net=LUSTRE).node.nics[0].interface == "ib4"


def test_links_of_earlier_releases_of_iproute2_are_read() -> None:
    assert [(nic.rdma_device, nic.link_type, nic.interface) for nic in machine(link=OLD_LINK).node.nics] == [
        ("mlx5_0", "infiniband", None),
        ("mlx5_1", "ether", "ens1f1np1"),
    ]


def test_a_matrix_of_an_earlier_driver_is_read() -> None:
    assert {nic.rdma_device: nic.nearest_gpu for nic in machine(topo=OLD_TOPO).node.nics} == {"mlx5_0": 0, "mlx5_1": 1}


def test_a_preset_of_a_machine_is_read() -> None:
    found = machine(preset=PRESET)

    assert [(nic.pci, nic.nearest_gpu) for nic in found.choice.rails] == [("0000:1a:00.0", 0)]
    assert [(nic.pci, nic.interface) for nic in found.choice.others] == [("0000:9d:00.1", "eth8")]
    assert found.machine.fields["nicModel"]["model"] == "BlueField-3"


@pytest.mark.parametrize(
    ("version", "vendor", "found"),
    [
        (1, ' vendor="0x10de"', "nvidia"),
        (1, "", "nvidia"),
        (2, ' vendor="0x1002"', "amd"),
        (2, "", "amd"),
        (2, ' vendor="0x1d94"', None),
        (1, ' vendor="0x1d94"', None),
    ],
)
def test_a_dump_says_whose_gpus_it_has_or_that_their_maker_is_not_known(
    version: int, vendor: str, found: str | None
) -> None:
    gpus = "".join(
        f'<pci busid="0000:{bus}:00.0" class="0x038000"{vendor} device="0x54b7"><gpu dev="{number}"/></pci>'
        for number, bus in enumerate(("09", "0a"))
    )
    nic = '<pci busid="0000:0c:00.0" class="0x020000" vendor="0x15b3"><nic><net name="mlx5_0"/></nic></pci>'
    dump = f'<system version="{version}"><cpu numaid="0" arch="x86_64">{gpus}{nic}</cpu></system>\n'

    of = machine(dump=dump)

    assert of.machine.fields.get("gpus", {}).get("vendor") == found
    assert ("PCI vendor 1d94 is neither NVIDIA" in " ".join(of.machine.missing)) is (found is None)
    assert ("gpus: {vendor: nvidia or amd, model: …, count: 2}" in of.machine.required) is (found is None)


def test_rccls_dump_of_amds_gpus_is_read() -> None:
    shape = catalog().find("BM.GPU.MI300X.8")
    assert shape is not None
    gpu, nic = shape.gpus.pci[0], shape.nics[0].pci
    dump = f"""\
<system version="2">
  <cpu host_hash="0x1" numaid="0" affinity="00000000,0000ffff" arch="x86_64" vendor="AuthenticAMD">
    <pci busid="0000:08:00.0" class="0x060400" vendor="0x1000" device="0xc030" link_speed="32.0 GT/s" link_width="16">
      <pci busid="{gpu}" class="0x120000" vendor="0x1002" device="0x74a1" link_speed="32.0 GT/s" link_width="16">
        <gpu dev="0" sm="94" gcn="gfx942" arch="38911" rank="0" gdr="1"/>
      </pci>
      <pci busid="{nic}" class="0x020000" vendor="0x15b3" device="0x1021" link_speed="32.0 GT/s" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="400000" port="1" latency="0.000000" guid="0x1"/></nic>
      </pci>
    </pci>
  </cpu>
</system>
"""

    found = machine(dump=dump)

    assert found.machine.fields["gpus"] == {
        "vendor": "amd", "model": "MI300X", "count": 1, "memoryGb": 192, "pci": [gpu],
    }  # fmt: skip
    (rail,) = found.choice.rails
    assert (rail.rdma_device, rail.pci, rail.speed_gbps, rail.nearest_gpu) == ("mlx5_0", nic, 400, 0)
    assert found.machine.fields["topology"]["numa"] == [{"node": 0, "cpus": [[0, 15]], "tree": "08>(G0,N0c)"}]
    assert "NCCL's dump writes function 0" in " ".join(found.node.inferred)


@pytest.mark.parametrize(
    ("nic", "device", "manager", "model"),
    [
        ("Broadcom Inc. and subsidiaries BCM57508 NetXtreme-E [14e4:1750]", "bnxt_re", "spiderpool", "macvlan"),
        ("AMD Pensando Systems DSC Ethernet Controller [1dd8:1002]", "ionic_", "amd-network-operator", "host-device"),
        ("Mellanox Technologies MT2910 Family [ConnectX-7] [15b3:1021]", "mlx5_", "network-operator", "host-device"),
    ],
)
def test_nics_of_each_maker_get_a_manager_that_hands_them_out(nic: str, device: str, manager: str, model: str) -> None:
    buses = [f"0000:{number:02x}" for number in range(0x10, 0x90, 0x10)]
    gpu = "Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [Instinct MI300X] [1002:74a1]"
    pci = "".join(f"{bus}:00.0 {gpu}\n{bus[:-1]}1:00.0 Ethernet controller [0200]: {nic}\n" for bus in buses)
    links = "".join(
        f"link {device}{number}/1 state ACTIVE physical_state LINK_UP netdev ens{number}np0\n" for number in range(8)
    )
    places = "".join(
        f"lrwxrwxrwx 1 root root 0 Nov 29 10:00 {device}{number} -> "
        f"../../devices/pci{bus[:-1]}0/{bus[:-1]}1:00.0/infiniband/{device}{number}\n"
        for number, bus in enumerate(buses)
    )
    text = stack_text(machine(pci=pci, links=links, places=places), StackFileOptions()).text
    chosen = re.sub(r"# labels: \{KEY: VALUE\}", "labels: {machine: ours}", text)
    written = document_of(chosen, "found", Path(), "found.yaml")
    workload = prepare(written, for_up=False).plan.workload
    assert (written.sections["fabric"].get("manager", "network-operator"), workload.model) == (manager, model)
    assert workload.resources["amd.com/gpu"] == "8"
