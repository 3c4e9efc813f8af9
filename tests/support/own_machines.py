"""Machines of one's own with their PCI trees, drawn at random."""

from typing import Any

from hypothesis import strategies as st


class _Machine:
    """Devices numbered as they are drawn, with the rails and the GPU nearest to each."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self.gpus: list[str] = []
        self.adapters: list[str] = []
        self.nearest: dict[str, int] = {}
        self._bridges = 0

    def numa_tree(self) -> str:
        """Roots of a NUMA node with one to three switches; a NIC below a switch without GPUs is near to all others."""
        roots, gpus, waiting = [], [], []
        for _ in range(self._draw(st.integers(1, 3))):
            text, below, unplaced = self._switch(depth=1)
            roots.append(text)
            gpus += below
            waiting += unplaced
        if not gpus:
            roots.append(self._gpu(gpus))
        self._place(waiting, gpus)
        return ";".join(roots)

    def _switch(self, depth: int) -> tuple[str, list[int], list[str]]:
        self._bridges += 1
        address = f"ffff:{self._bridges:02x}:00.0"
        parts: list[str] = []
        gpus: list[int] = []
        waiting: list[str] = []
        for kind in self._draw(st.lists(st.sampled_from(["gpu", "nic", "switch"]), min_size=1, max_size=3)):
            if kind == "gpu":
                parts.append(self._gpu(gpus))
            elif kind == "switch" and depth < 4:
                text, below, unplaced = self._switch(depth + 1)
                parts.append(text)
                gpus += below
                waiting += unplaced
            else:
                self.adapters.append(f"0000:{0x80 + len(self.adapters):02x}:00")
                waiting.append(self.adapters[-1])
                parts.append(f"N{self.adapters[-1][5:7]}" if self._draw(st.booleans()) else f"N{self.adapters[-1]}.0")
        self._place(waiting, gpus)
        return f"{address}>({','.join(parts)})", gpus, [] if gpus else waiting

    def _gpu(self, gpus: list[int]) -> str:
        gpus.append(len(self.gpus))
        self.gpus.append(f"0001:{len(self.gpus):02x}:00.0")
        return f"G{gpus[-1]}"

    def _place(self, adapters: list[str], gpus: list[int]) -> None:
        for adapter in adapters if gpus else ():
            self.nearest[adapter] = self._draw(st.sampled_from(gpus))


@st.composite
def machines(draw: st.DrawFn) -> dict[str, Any]:
    """What a stack file may say of a machine with NVIDIA's or AMD's GPUs, one to four NUMA nodes and RDMA NICs."""
    machine = _Machine(draw)
    each = draw(st.integers(1, 40))
    trees = [machine.numa_tree() for _ in range(draw(st.integers(1, 4)))]
    if not machine.adapters:
        machine.adapters.append("0000:f0:00")
        trees[-1] += ";Nf0"
    functions = draw(st.sampled_from([(0,), (0, 1)]))
    knows_nearest = draw(st.booleans())
    numa = [
        {"node": node, "cpus": [[node * each, node * each + each - 1]], "tree": tree} for node, tree in enumerate(trees)
    ]
    nics = [
        {"pci": f"{adapter}.{function}"}
        | ({"nearestGpu": machine.nearest[adapter]} if knows_nearest and adapter in machine.nearest else {})
        for adapter in machine.adapters
        for function in functions
    ]
    return {
        "gpus": {"vendor": draw(st.sampled_from(["nvidia", "amd"])), "count": len(machine.gpus), "pci": machine.gpus},
        "nicModel": {"linkType": draw(st.sampled_from(["ether", "infiniband"]))},
        **draw(st.sampled_from([{}, {"nicSpeedGbps": 400}])),
        "nics": nics,
        "topology": {
            "cpu": draw(st.sampled_from([{}, {"arch": "arm64"}, {"arch": "x86_64", "vendor": "AuthenticAMD"}])),
            "cpuMaskBits": draw(st.integers(each * len(trees), 256)),
            "linkSpeed": "32.0 GT/s PCIe",
            "numa": draw(st.permutations(numa)),
        },
    }
