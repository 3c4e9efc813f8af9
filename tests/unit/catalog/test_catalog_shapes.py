"""The shapes: Oracle's against its published tables, typed here a second time; and what must hold for every shape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from each_case import each

from gpu_fabric.catalog import Hardware, Shape, catalog
from gpu_fabric.nccl.topology import topology_xml

SHAPES = catalog().shapes


# Oracle's NCCL_IB_HCA lists, as numbers of mlx5_N (ionic_N on BM.GPU.MI355X.8). In place of the published list of
# BM.GPU.GB200-v2.4, which names a front-end NIC (3), stands the corrected one.
EVEN, ODD = [0, 2, 6, 8, 10, 12, 14, 16], [1, 3, 7, 9, 11, 13, 15, 17]
A100_V2 = [1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 16, 17, 9, 10, 11, 12]
H200 = [0, 3, 4, 5, 6, 9, 10, 11]
GB300 = [0, 1, 2, 3, 5, 6, 7, 8]
HCA_NUMBERS = {
    "BM.GPU4.8": [*EVEN, *ODD],
    "BM.GPU.A100-v2.8": A100_V2,
    "BM.GPU.B4.8": A100_V2,
    "BM.GPU.H100.8": [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17],
    "BM.GPU.H200.8": H200,
    "BM.GPU.B200.8": H200,
    "BM.GPU.B300.8": [0, 1, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21],
    "BM.GPU.RTXPRO.8": [0, 1, 2, 3, 6, 7, 8, 9],
    "BM.GPU.GB200.4": [0, 1, 3, 4],
    "BM.GPU.GB200-v2.4": [0, 1, 4, 5],
    "BM.GPU.GB200-v3.4": GB300,
    "BM.GPU.GB300.4": GB300,
    "BM.GPU.MI300X.8": [0, 2, 3, 4, 5, 7, 8, 9],
    "BM.GPU.MI355X.8": [0, 2, 3, 4, 5, 7, 8, 9],
    "BM.GPU.MI355X-v1.8": [0, 1, 2, 3, 4, 5, 6, 7],
}

# The three shapes of the OKE guide, whose rows earlier releases of this program had: mlx5 numbers in rail order.
RDMA_DEVICES = {
    "BM.GPU4.8": [6, 7, 8, 9, 0, 1, 2, 3, 14, 15, 16, 17, 10, 11, 12, 13],
    "BM.GPU.A100-v2.8": [5, 6, 7, 8, 1, 2, 3, 4, 14, 15, 16, 17, 9, 10, 11, 12],
    "BM.GPU.H100.8": [0, 1, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 15, 16, 17],
}


def devices(shape: Shape) -> list[str | None]:
    return [nic.rdma_device for nic in shape.nics]


@each("name", HCA_NUMBERS)
def test_the_derived_hca_list_names_the_devices_of_oracles_list(name: str) -> None:
    prefix = "ionic_" if name == "BM.GPU.MI355X.8" else "mlx5_"
    derived = SHAPES[name].hca_list

    assert derived is not None
    assert derived.startswith("=")
    assert sorted(derived[1:].split(",")) == sorted(f"{prefix}{number}" for number in HCA_NUMBERS[name])


@pytest.mark.parametrize("name", RDMA_DEVICES)
def test_rails_name_the_rdma_devices_of_the_hosts(name: str) -> None:
    assert devices(SHAPES[name]) == [f"mlx5_{number}" for number in RDMA_DEVICES[name]]


def test_no_topology_file_is_made_without_the_addresses_it_needs() -> None:
    tree = catalog().topologies["BM.GPU.H100.8"]

    with pytest.raises(ValueError, match=r"BM\.GPU\.B300\.8: a topology file needs the PCI addresses of all GPUs"):
        topology_xml(SHAPES["BM.GPU.B300.8"], tree)


def test_the_shape_that_the_documentation_describes_inline_is_accepted(root: Path) -> None:
    text = (root / "docs/shapes.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    rows = yaml.safe_load(example)["config"]["gpu-fabric:cluster"]["shapes"]

    assert {name: Hardware.model_validate(row).hca_list for name, row in rows.items()} == {"lab-h100": "=mlx5_0,mlx5_1"}
