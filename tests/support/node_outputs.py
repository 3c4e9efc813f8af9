"""What the tools print on a machine of a catalog shape, in the forms that their documentation and code have.

A fact that the catalog does not have is made up where a tool must print one (bridges, GUIDs, firmware), and is of no
effect on what is expected.
"""

import json
from xml.etree import ElementTree

from gpu_fabric.catalog import Shape

# As lspci prints them, by PCI device id.
NICS = {
    "1017": "Mellanox Technologies MT27800 Family [ConnectX-5]",
    "1019": "Mellanox Technologies MT28800 Family [ConnectX-5 Ex]",
    "101b": "Mellanox Technologies MT28908 Family [ConnectX-6]",
    "101d": "Mellanox Technologies MT2892 Family [ConnectX-6 Dx]",
    "1021": "Mellanox Technologies MT2910 Family [ConnectX-7]",
    "1023": "Mellanox Technologies CX8 Family [ConnectX-8]",
    "a2dc": "Mellanox Technologies MT43244 BlueField-3 integrated ConnectX-7 network controller",
}
# By the catalog's model: what nvidia-smi and lspci call the GPU, and its PCI device id.
GPUS = {
    "A100-40": ("NVIDIA A100-SXM4-40GB", "NVIDIA Corporation GA100 [A100 SXM4 40GB]", "20b0", 40960),
    "A100-80": ("NVIDIA A100-SXM4-80GB", "NVIDIA Corporation GA100 [A100 SXM4 80GB]", "20b2", 81920),
    "A100": ("NVIDIA A100-SXM4-80GB", "NVIDIA Corporation GA100 [A100 SXM4 80GB]", "20b2", 81920),
    "H100": ("NVIDIA H100 80GB HBM3", "NVIDIA Corporation GH100 [H100 SXM5 80GB]", "2330", 81559),
    "H200": ("NVIDIA H200", "NVIDIA Corporation GH100 [H200 SXM 141GB]", "2335", 143771),
    "B200": ("NVIDIA B200", "NVIDIA Corporation GB100 [B200]", "2901", 183359),
    "B300": ("NVIDIA B300 SXM6 AC", "NVIDIA Corporation Device", "3182", 275040),
    "GB200": ("NVIDIA GB200", "NVIDIA Corporation Device", "2941", 189471),
    "GB300": ("NVIDIA GB300", "NVIDIA Corporation Device", "31c2", 284208),
    "L40S": ("NVIDIA L40S", "NVIDIA Corporation AD102GL [L40S]", "26b9", 46068),
    "MI300X": ("", "Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [Instinct MI300X]", "74a1", 0),
    "MI355X": ("", "Advanced Micro Devices, Inc. [AMD/ATI] Device", "75a3", 0),
}
FRONT_END_DEVICE = "101d"
SPEED = 400


class NodeOutputs:
    """The outputs of one machine; each method is a command."""

    def __init__(self, shape: Shape, *, mtu: int | None = None, speed: int = SPEED, vfs: int = 0) -> None:
        assert shape.nic_model is not None
        self.shape = shape
        self.model = shape.nic_model
        self.vfs = vfs
        self.mtu = mtu or shape.mtu or 9000
        self.speed = shape.nic_speed_gbps or speed
        self.infiniband = self.model.link_type == "infiniband"
        known = shape.gpus.pci
        # Where the addresses are not published: buses that no NIC has, in ascending order.
        self.gpus = known or tuple(f"0000:{0xE0 + index:02x}:00.0" for index in range(shape.gpus.count))
        self.front_end = list(shape.front_end_nics or ())

    @property
    def rails(self) -> list[tuple[str, str, str, int | None]]:
        """PCI address, RDMA device, interface and nearest GPU of each rail."""
        return [
            (nic.pci or "", nic.rdma_device or f"mlx5_{rail}", nic.interface or f"rail{rail}", nic.nearest_gpu)
            for rail, nic in enumerate(self.shape.nics)
        ]

    def virtual(self) -> list[tuple[str, str, str, int | None]]:
        """The same of each virtual function: on device 01 of its NIC's bus, and with names after the others."""
        names = [nic.rdma_device or "0" for nic in (*self.shape.nics, *self.front_end)]
        first = 1 + max(int(name.rpartition("_")[2]) for name in names if name[-1].isdigit() and "irdma" not in name)
        return [
            (
                f"{pci[:8]}{1 + function:02x}.{pci[-1]}",
                f"mlx5_{first + rail * self.vfs + function}",
                f"{interface}v{function}",
                gpu,
            )
            for rail, (pci, _, interface, gpu) in enumerate(self.rails)
            for function in range(self.vfs)
        ]

    def devices(self) -> list[tuple[str, str, str, int | None, str]]:
        """Every RDMA device as a host lists them: address, name, interface, nearest GPU, and its PCI device id."""
        rails = [(*rail, self.model.device_id or "1021") for rail in self.rails]
        others = [
            (nic.pci or "", nic.rdma_device, nic.interface or "", None, FRONT_END_DEVICE)
            for nic in self.front_end
            if nic.rdma_device
        ]
        virtual = [(*each, self.model.vf_device_id or "101e") for each in self.virtual()]
        return sorted([*rails, *others, *virtual], key=lambda row: (len(row[1]), row[1]))

    def of_infiniband(self, device: str) -> bool:
        """Whether a device with this id has an InfiniBand port."""
        return self.infiniband and device != FRONT_END_DEVICE

    def mtu_of(self, device: str) -> int:
        """The MTU of the interface of a device with this id."""
        return 1500 if device == FRONT_END_DEVICE else self.mtu

    # PCI

    def functions(self) -> list[tuple[str, str, str, str, str, str]]:
        """Address, class, class name, name, ids and driver of each function, in the order of addresses."""
        of_ib = ("0207", "Infiniband controller")
        rail = of_ib if self.infiniband else ("0200", "Ethernet controller")
        device = self.model.device_id or "1021"
        rows = [
            (pci, *rail, NICS[device], f"{self.model.vendor_id or '15b3'}:{device}", self.model.driver or "mlx5_core")
            for pci, _, _, _ in self.rails
        ]
        vf = f"15b3:{self.model.vf_device_id}"
        name = "Mellanox Technologies ConnectX Family mlx5Gen Virtual Function"
        rows += [(pci, *rail, name, vf, "mlx5_core") for pci, _, _, _ in self.virtual()]
        for nic in self.front_end:
            if (nic.pci and nic.rdma_device is None) or (nic.rdma_device or "").startswith("irdma"):
                name = "Intel Corporation Ethernet Controller E810-C for QSFP"
                rows.append((nic.pci or "", "0200", "Ethernet controller", name, "8086:1592", "ice"))
            elif nic.pci:
                ids = f"15b3:{FRONT_END_DEVICE}"
                rows.append((nic.pci, "0200", "Ethernet controller", NICS[FRONT_END_DEVICE], ids, "mlx5_core"))
        _, name, gpu_device, _ = GPUS[self.shape.gpus.model or ""]
        amd = self.shape.gpus.vendor == "amd"
        kind = ("1200", "Processing accelerators") if amd else ("0302", "3D controller")
        vendor, driver = ("1002", "amdgpu") if amd else ("10de", "nvidia")
        named = name if "[" in name.removeprefix("Advanced Micro Devices, Inc. [AMD/ATI]") else f"{name} {gpu_device}"
        rows += [(pci, *kind, named, f"{vendor}:{gpu_device}", driver) for pci in self.gpus]
        rows.append(("0000:00:00.0", "0600", "Host bridge", "Intel Corporation Device 09a2", "8086:09a2", ""))
        rows.append(
            ("0000:03:00.7", "0300", "VGA compatible controller", "ASPEED Technology, Inc. ASPEED Graphics Family",
             "1a03:2000", "ast")
        )  # fmt: skip
        return sorted(rows)

    def lspci(self) -> str:
        """`lspci -D -nn -k`."""
        lines = []
        for pci, code, kind, name, ids, driver in self.functions():
            lines += [f"{pci} {kind} [{code}]: {name} [{ids}] (rev a1)", f"\tSubsystem: Vendor Device [{ids}]"]
            if driver:
                lines += [f"\tKernel driver in use: {driver}", f"\tKernel modules: {driver}"]
        return "\n".join(lines) + "\n"

    def lspci_fields(self) -> str:
        """`lspci -D -vmm -nn -k`."""
        blocks = []
        for pci, code, kind, name, ids, driver in self.functions():
            vendor, device = ids.split(":")
            words = next(
                (
                    each
                    for each in ("Mellanox Technologies", "NVIDIA Corporation", "Intel Corporation")
                    if name.startswith(each)
                ),
                "Advanced Micro Devices, Inc. [AMD/ATI]",
            )
            rest = name.removeprefix(words).strip()
            block = [f"Slot:\t{pci}", f"Class:\t{kind} [{code}]", f"Vendor:\t{words} [{vendor}]"]
            block += [f"Device:\t{rest} [{device}]", f"SVendor:\tVendor [{vendor}]", "Rev:\ta1"]
            if driver:
                block += [f"Driver:\t{driver}", f"Module:\t{driver}"]
            blocks.append("\n".join([*block, "NUMANode:\t0"]))
        return "\n\n".join(blocks) + "\n\n"

    def lspci_short(self) -> str:
        """`lspci`, without numbers, and without the domain where all are in domain 0."""
        one = all(pci.startswith("0000:") for pci, *_ in self.functions())
        return "".join(
            f"{pci.removeprefix('0000:') if one else pci} {kind}: {name} (rev a1)\n"
            for pci, _, kind, name, _, _ in self.functions()
        )

    def sysfs(self) -> str:
        """`ls -l /sys/bus/pci/devices /sys/class/infiniband /sys/class/net`: each GPU below a switch of its own, with
        the NICs that are nearest to it, and the other NICs below none."""
        functions, devices, interfaces = [], [], []
        link = "lrwxrwxrwx 1 root root 0 Nov 25 10:00"

        path = self.device_path
        for number, pci in enumerate(self.gpus):
            functions.append(f"{link} {pci} -> ../../../devices/{path(pci, number)}")
        for pci, name, interface, gpu, _ in self.devices():
            functions.append(f"{link} {pci} -> ../../../devices/{path(pci, gpu)}")
            devices.append(f"{link} {name} -> ../../devices/{path(pci, gpu)}/infiniband/{name}")
            if interface:
                interfaces.append(f"{link} {interface} -> ../../devices/{path(pci, gpu)}/net/{interface}")
        interfaces.append(f"{link} lo -> ../../devices/virtual/net/lo")
        blocks = [
            ("/sys/bus/pci/devices:", sorted(functions)),
            ("/sys/class/infiniband:", devices),
            ("/sys/class/net:", interfaces),
        ]
        return "\n\n".join("\n".join([head, "total 0", *lines]) for head, lines in blocks) + "\n"

    @staticmethod
    def device_path(pci: str, gpu: int | None) -> str:
        """The path of a function below sysfs' devices: below a switch of its GPU, or below none."""
        if gpu is None:
            return f"pci{pci[:7]}/{pci}"
        return f"pci0000:{0x10 + gpu:02x}/0000:{0x10 + gpu:02x}:01.0/fff0:{gpu:02x}:00.0/fff0:{gpu:02x}:01.0/{pci}"

    # RDMA

    def rdma_link(self) -> str:
        """`rdma link`."""
        lines = []
        for _, name, interface, _, device in self.devices():
            lid = "subnet_prefix fe80:0000:0000:0000 lid 23 sm_lid 1 lmc 0 " if self.of_infiniband(device) else ""
            netdev = f" netdev {interface}" if interface else ""
            lines.append(f"link {name}/1 {lid}state ACTIVE physical_state LINK_UP{netdev} ")
        return "\n".join(lines) + "\n"

    def rdma_link_json(self) -> str:
        """`rdma -j link`, in one line."""
        rows = []
        for number, (_, name, interface, _, device) in enumerate(self.devices()):
            lid = {"subnet_prefix": "fe80:0000:0000:0000", "lid": 23, "sm_lid": 1, "lmc": 0}
            row = {"ifindex": number, "ifname": name, "port": 1, **(lid if self.of_infiniband(device) else {})}
            rows.append({**row, "state": "ACTIVE", "physical_state": "LINK_UP", "netdev": interface, "netdev_index": 7})
        return json.dumps(rows) + "\n"

    def ibdev2netdev(self) -> str:
        """`ibdev2netdev`."""
        return "".join(f"{name} port 1 ==> {interface} (Up)\n" for _, name, interface, _, _ in self.devices())

    def ibdev2netdev_verbose(self) -> str:
        """`ibdev2netdev -v`."""
        lines = []
        for pci, name, interface, _, device in self.devices():
            part = "MCX75310AAS-NEAT ConnectX-7 HHHL Adapter Card; 400GbE (default mode); Single-port OSFP"
            card = f"(MT{int(device, 16)} - {part.split()[0]}) {part.partition(' ')[2]}"
            lines.append(f"{pci} {name} {card} fw 28.41.1000 port 1 (ACTIVE) ==> {interface} (Up)")
        return "\n".join(lines) + "\n"

    def ibstat(self) -> str:
        """`ibstat`."""
        blocks = []
        for _, name, _, _, device in self.devices():
            layer = "InfiniBand" if self.of_infiniband(device) else "Ethernet"
            blocks.append(
                f"CA '{name}'\n\tCA type: MT{int(device, 16)}\n\tNumber of ports: 1\n\tFirmware version: 28.41.1000\n"
                f"\tHardware version: 0\n\tNode GUID: 0x0000000000000001\n\tSystem image GUID: 0x0000000000000001\n"
                f"\tPort 1:\n\t\tState: Active\n\t\tPhysical state: LinkUp\n"
                f"\t\tRate: {100 if device == FRONT_END_DEVICE else self.speed}\n"
                f"\t\tBase lid: 0\n\t\tLMC: 0\n\t\tSM lid: 0\n\t\tCapability mask: 0x00010000\n"
                f"\t\tPort GUID: 0x0000000000000001\n\t\tLink layer: {layer}\n"
            )
        return "".join(blocks)

    def ibstatus(self) -> str:
        """`ibstatus`."""
        return "".join(
            f"Infiniband device '{name}' port 1 status:\n\tdefault gid:\t fe80:0000:0000:0000:0000:0000:0000:0001\n"
            f"\tbase lid:\t 0x0\n\tsm lid:\t\t 0x0\n\tstate:\t\t 4: ACTIVE\n\tphys state:\t 5: LinkUp\n"
            f"\trate:\t\t {100 if device == FRONT_END_DEVICE else self.speed} Gb/sec (4X NDR)\n"
            f"\tlink_layer:\t {'InfiniBand' if self.of_infiniband(device) else 'Ethernet'}\n\n"
            for _, name, _, _, device in self.devices()
        )

    def show_gids(self) -> str:
        """`show_gids`: of each port the GIDs of its MAC and of its address."""
        lines = [
            "DEV\tPORT\tINDEX\tGID\t\t\t\t\tIPv4  \t\tVER\tDEV",
            "---\t----\t-----\t---\t\t\t\t\t------------  \t---\t---",
        ]
        gids = ("fe80:0000:0000:0000:0ac0:ebff:fe3d:ca54\t", "0000:0000:0000:0000:0000:ffff:0a6e:0021\t10.110.0.33  ")
        for _, name, interface, _, _ in self.devices():
            lines += [f"{name}\t1\t{index}\t{gids[index // 2]}\t\tv{1 + index % 2}\t{interface}" for index in range(4)]
        return "\n".join([*lines, f"n_gids_found={len(lines) - 2}", ""])

    def mst_status(self) -> str:
        """`mst status -v`."""
        one = all(pci.startswith("0000:") for pci, *_ in self.devices())
        lines = [
            "MST modules:",
            "------------",
            "    MST PCI module is not loaded",
            "    MST PCI configuration module loaded",
        ]
        lines += ["PCI devices:", "------------", "DEVICE_TYPE             MST      PCI       RDMA      NET       NUMA"]
        for number, (pci, name, interface, _, _) in enumerate(self.devices()):
            address = pci.removeprefix("0000:") if one else pci
            lines += [
                f"ConnectX7(rev:0)        /dev/mst/mt4129_pciconf{number}  {address}   {name}   net-{interface}    0",
                "",
            ]
        return "\n".join(lines) + "\n"

    def lshw(self) -> str:
        """`lshw -c network -businfo`."""
        lines = ["Bus info          Device      Class          Description", "=" * 56]
        lines += [
            f"pci@{pci}  {interface}  network  MT2910 Family [ConnectX-7]" for pci, _, interface, _, _ in self.devices()
        ]
        return "\n".join(
            [
                *lines,
                "pci@0000:03:00.7              network        Virtio network device",
                "virtio@10  eth9  network  Ethernet interface",
                "",
            ]
        )

    def ibv_devinfo(self) -> str:
        """`ibv_devinfo`."""
        blocks = []
        for _, name, _, _, device in self.devices():
            layer = "InfiniBand" if self.of_infiniband(device) else "Ethernet"
            blocks.append(
                f"hca_id:\t{name}\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.41.1000\n"
                f"\tnode_guid:\t\t\t0000:0000:0000:0001\n\tvendor_id:\t\t\t0x02c9\n"
                f"\tvendor_part_id:\t\t\t{int(device, 16)}\n"
                f"\thw_ver:\t\t\t\t0x0\n\tboard_id:\t\t\tMT_0000000838\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t1\n"
                f"\t\t\tstate:\t\t\tPORT_ACTIVE (4)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t4096 (5)\n"
                f"\t\t\tport_lid:\t\t0\n\t\t\tlink_layer:\t\t{layer}\n\n"
            )
        return "".join(blocks)

    def ip_link(self) -> str:
        """`ip -d link`."""
        lines = [
            "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000"
        ]
        lines.append("    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00 promiscuity 0 addrgenmode eui64 ")
        for number, (pci, _, interface, _, device) in enumerate(self.devices(), start=2):
            if not interface:
                continue
            kind = "infiniband 00:00:10:29" if self.of_infiniband(device) else "ether 02:00:00:00:00:01"
            mtu = self.mtu_of(device)
            lines += [
                f"{number}: {interface}: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu {mtu} qdisc mq state UP mode "
                "DEFAULT group default qlen 1000",
                f"    link/{kind} brd ff:ff:ff:ff:ff:ff promiscuity 0 minmtu 68 maxmtu 9978 addrgenmode eui64 "
                f"numtxqueues 1008 numrxqueues 126 gso_max_size 65536 parentbus pci parentdev {pci} ",
                "    vf 0     link/ether 02:00:00:00:00:02 brd ff:ff:ff:ff:ff:ff, spoof checking off, trust off",
            ]
        lines.append("99: veth0@if2: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UP mode DEFAULT ")
        lines.append("    link/ether 02:00:00:00:00:09 brd ff:ff:ff:ff:ff:ff link-netnsid 0 promiscuity 0")
        return "\n".join(lines) + "\n"

    def ip_link_json(self) -> str:
        """`ip -d -j link`."""
        rows: list[dict[str, object]] = [{"ifindex": 1, "ifname": "lo", "mtu": 65536, "link_type": "loopback"}]
        for number, (pci, _, interface, _, device) in enumerate(self.devices(), start=2):
            kind = "infiniband" if self.of_infiniband(device) else "ether"
            mtu = self.mtu_of(device)
            row = {"ifindex": number, "ifname": interface, "mtu": mtu, "link_type": kind}
            rows.append({**row, "parentbus": "pci", "parentdev": pci})
        return json.dumps(rows) + "\n"

    # GPUs

    def nvidia_smi_gpus(self) -> str:
        """`nvidia-smi --query-gpu=index,pci.bus_id,name,memory.total --format=csv`."""
        name, _, _, memory = GPUS[self.shape.gpus.model or ""]
        rows = [f"{index}, 0000{pci.upper()}, {name}, {memory} MiB" for index, pci in enumerate(self.gpus)]
        return "\n".join(["index, pci.bus_id, name, memory.total [MiB]", *rows]) + "\n"

    def nvidia_smi_topo(self, *, underlined: bool = True) -> str:
        """`nvidia-smi topo -m`, with the head underlined as on a terminal."""
        devices = self.devices()
        gpus = [f"GPU{number}" for number in range(len(self.gpus))]
        nics = [f"NIC{number}" for number in range(len(devices))]
        head = [*gpus, *nics, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
        begin, end = ("\x1b[4m", "\x1b[0m") if underlined else ("", "")
        lines = ["\t" + "\t".join(f"{begin}{word}" for word in head) + end]
        near = [gpu for _, _, _, gpu, _ in devices]
        for number, gpu in enumerate(gpus):
            cells = [" X " if number == other else "NV18" for other in range(len(gpus))]
            cells += ["PIX" if nearest == number else "NODE" if nearest else "SYS" for nearest in near]
            lines.append("\t".join([gpu, *cells, "0-51,104-155", "0", "\tN/A"]))
        for number, nic in enumerate(nics):
            cells = ["PIX" if near[number] == gpu else "SYS" for gpu in range(len(gpus))]
            cells += [" X " if number == other else "SYS" for other in range(len(nics))]
            lines.append("\t".join([nic, *cells, "", "", ""]))
        lines += ["", "Legend:", "", "  X    = Self"]
        lines += [
            "  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)"
        ]
        lines += ["  PIX  = Connection traversing at most a single PCIe bridge", "", "NIC Legend:", ""]
        lines += [f"  {nic}: {device[1]}" for nic, device in zip(nics, devices, strict=True)]
        return "\n".join([*lines, "", ""])

    # Others

    def nccl_dump(self, lean: str) -> str:
        """What NCCL dumps on it, by the machine's topology file: with GPUs, ports, and NCCL's own attributes."""
        system = ElementTree.fromstring(lean)  # noqa: S314
        for cpu in system.iter("cpu"):
            cpu.attrib = {"host_hash": "0x1f2e3d4c5b6a7988", **cpu.attrib}
        for pci in system.iter("pci"):
            if pci.get("busid") in self.gpus:
                dev = str(self.gpus.index(pci.get("busid", "")))
                ElementTree.SubElement(pci, "gpu", {"dev": dev, "sm": "90", "rank": dev, "gdr": "1"})
            ports = [
                rail for rail in self.rails if rail[0].rpartition(".")[0] == (pci.get("busid") or "").rpartition(".")[0]
            ]
            if ports:
                nic = ElementTree.SubElement(pci, "nic")
                for number, (_, name, _, _) in enumerate(ports):
                    attributes = {
                        "name": name,
                        "dev": str(number),
                        "latency": "0.000000",
                        "speed": str(self.speed * 1000),
                    }
                    ElementTree.SubElement(nic, "net", {**attributes, "port": "1", "guid": "0x1", "maxconn": "131072"})
        return _tags(system)

    def cluster_config(self) -> str:
        """cluster-config.yaml of `l8k discover`."""
        lines = ["flavor: k8s", "nvIpam: {poolName: nv-ipam-pool}", "clusterConfig:", "  - identifier: group-0"]
        model = self.shape.gpus.model
        kind = "InfiniBand" if self.infiniband else "Ethernet"
        lines += [
            "    machineType: PowerEdge-XE9680",
            f"    gpuType: NVIDIA-{model}",
            f"    linkType: {kind}",
            "    pfs:",
        ]
        for number, (pci, name, interface, gpu) in enumerate(self.rails):
            lines += [
                f'      - deviceID: "{self.model.device_id}"',
                f"        rdmaDevice: {name}",
                f'        pciAddress: "{pci}"',
                f"        networkInterface: {interface}",
                "        traffic: east-west",
                f"        rail: {number}",
            ]
            lines += [] if gpu is None else [f"        connectedGPU: GPU{gpu}", "        gpuProximity: PIX"]
        for nic in self.front_end:
            lines += ["      - deviceID: a2dc", f'        rdmaDevice: "{nic.rdma_device or ""}"']
            lines += [f'        pciAddress: "{nic.pci}"', f"        networkInterface: {nic.interface}"]
            lines += ["        traffic: north-south"]
        return "\n".join([*lines, "    workerNodes: [worker-0, worker-1, worker-2]"]) + "\n"


def _tags(element: ElementTree.Element, indent: str = "") -> str:
    """As NCCL writes a file: two blanks a level, a childless tag with a slash."""
    tag = " ".join([element.tag, *(f'{name}="{value}"' for name, value in element.attrib.items())])
    if len(element) == 0:
        return f"{indent}<{tag}/>\n"
    return f"{indent}<{tag}>\n{''.join(_tags(child, indent + '  ') for child in element)}{indent}</{element.tag}>\n"
