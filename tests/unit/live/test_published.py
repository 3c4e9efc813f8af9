"""What drivers publish of a node, held against the machine that the plan has there."""

from collections.abc import Callable
from typing import Any

from each_case import each

from gpu_fabric.catalog import catalog
from gpu_fabric.k8s.resource_slices import DeviceId, devices_of
from gpu_fabric.live.device_drivers import unlike
from tests.support.resource_slices import gpu, nic, resource_slice

Object = dict[str, Any]
SHAPE = catalog().shapes["BM.GPU.H100.8"]
ROOTS = [f"pci0000:{number:02x}" for number in range(SHAPE.gpus.count)]
FIRST = DeviceId("dra.net", "gpu-0", "pci-0000-0c-00-0")
Change = Callable[[list[Object], list[Object]], object]


def without_root(nics: list[Object], gpus: list[Object]) -> None:
    nics[2]["attributes"]["resource.kubernetes.io/pcieRoot"]["string"] = "pci0000:ff"


def without_rdma(nics: list[Object], gpus: list[Object]) -> None:
    nics[0] = nic("0000:0c:00.0", None, ROOTS[0], rdma=False)


# A change of what is published; whether claims are aligned; the devices that claims hold; and what is said.
CASES: tuple[tuple[str, Change, bool, frozenset[DeviceId], str | None], ...] = (
    ("all there", lambda nics, gpus: None, True, frozenset(), None),
    ("a NIC less", lambda nics, gpus: nics.pop(), True, frozenset(), "no rail 15 (0000:d5:00.1)"),
    ("a GPU less", lambda nics, gpus: gpus.pop(), True, frozenset(), "no GPU 7 (0000:d8:00.0)"),
    ("no RDMA", without_rdma, True, frozenset(), "rail 0 (pci-0000-0c-00-0) without RDMA"),
    ("in a pod", without_rdma, True, frozenset({FIRST}), None),
    ("another root", without_root, True, frozenset(), "rail 2 below another PCI root than its nearest GPU 1"),
    ("roots do not count", without_root, False, frozenset(), None),
)


@each("case", CASES, ids=lambda case: case[0])
def test_what_a_driver_does_not_publish_of_a_machine_is_named(
    case: tuple[str, Change, bool, frozenset[DeviceId], str | None],
) -> None:
    _, change, aligned, held, says = case
    nics = [nic(str(one.pci), one.interface, ROOTS[one.nearest_gpu or 0]) for one in SHAPE.nics]
    gpus = [gpu(number, pci, root=ROOTS[number]) for number, pci in enumerate(SHAPE.gpus.pci)]
    change(nics, gpus)
    slices = [resource_slice("dra.net", "gpu-0", nics), resource_slice("gpu.nvidia.com", "gpu-0", gpus)]

    found = unlike(SHAPE, ("dra.net", "gpu.nvidia.com"), [*devices_of(slices)], held, aligned=aligned)

    assert (found is None) if says is None else (found is not None and says in found[0]), found
