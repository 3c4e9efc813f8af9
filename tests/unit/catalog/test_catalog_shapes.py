"""The shapes: Oracle's against its published tables, typed here a second time; and what must hold for every shape."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from each_case import each

from gpu_fabric.catalog import FrontEndNic, Hardware, Nic, Shape, catalog
from gpu_fabric.nccl.topology import topology_xml

SHAPES = catalog().shapes
FOLDER = Path("gpu_fabric/catalog/shapes")

CX5 = ("ConnectX-5 Ex", "1019", "101a")
CX7 = ("ConnectX-7", "1021", "101e")
CX8 = ("ConnectX-8", "1023", "101e")
CX6DX = ("ConnectX-6 Dx", "101d", "101e")

# Oracle's overview of GPU shapes: GPUs, vendor, model; RDMA NICs, their model with PF and VF device ids; MTU; virtual
# functions (preview: on the main branch; experimental: on branch `vf` only); front-end NICs (None: not published).
OVERVIEW = {
    "BM.GPU4.8": (8, "nvidia", "A100-40", 16, CX5, 4220, "preview", 1),
    "BM.GPU.B4.8": (8, "nvidia", "A100-40", 16, CX5, 4220, "preview", 1),
    "BM.GPU.A100-v2.8": (8, "nvidia", "A100-80", 16, CX5, 4220, "preview", 1),
    "BM.GPU.GM4.8": (8, "nvidia", "A100-80", 16, CX5, 4220, "experimental", 1),
    "BM.GPU.H100.8": (8, "nvidia", "H100", 16, CX7, 4220, "preview", 2),
    "BM.GPU.H100T.8": (8, "nvidia", "H100", 16, CX7, 4220, "experimental", 4),
    "BM.GPU.H200.8": (8, "nvidia", "H200", 8, CX7, 4220, "preview", 4),
    "BM.GPU.H200-NC.8": (8, "nvidia", "H200", 8, CX7, 4220, "experimental", 4),
    "BM.GPU.B200.8": (8, "nvidia", "B200", 8, CX7, 4220, "preview", 4),
    "BM.GPU.B300.8": (8, "nvidia", "B300", 16, CX8, 4220, "preview", None),
    "BM.GPU.GB200.4": (4, "nvidia", "GB200", 4, CX7, 4220, "experimental", 2),
    "BM.GPU.GB200-v2.4": (4, "nvidia", "GB200", 4, CX7, 4220, "experimental", 2),
    "BM.GPU.GB200-v3.4": (4, "nvidia", "GB200", 8, CX8, 9000, "experimental", 2),
    "BM.GPU.GB300.4": (4, "nvidia", "GB300", 8, CX8, 9000, "experimental", 2),
    "BM.GPU.MI300X.8": (8, "amd", "MI300X", 8, CX7, 4220, "preview", 2),
    "BM.GPU.MI355X-v1.8": (8, "amd", "MI355X", 8, CX7, 4220, "preview", 2),
    "BM.GPU.MI355X.8": (8, "amd", "MI355X", 8, ("AMD Pensando", None, None), None, "none", None),
    "BM.GPU.RTXPRO.8": (8, "nvidia", "RTX PRO", 8, (None, None, None), None, "none", None),
    "BM.GPU.L40S.4": (4, "nvidia", "L40S", 2, CX7, 4220, "experimental", 4),
    "BM.GPU.L40S-NC.4": (4, "nvidia", "L40S", 2, CX7, 4220, "experimental", 4),
    "BM.GPU.T1.2": (2, "nvidia", "A10", 1, CX6DX, 4220, "none", 1),
    "BM.GPU.GU1.2": (2, "nvidia", None, 1, CX6DX, 4220, "none", 1),
    "VM.GPU.A10.1": (1, "nvidia", "A10", 0, None, None, "none", None),
    "VM.GPU.A10.2": (2, "nvidia", "A10", 0, None, None, "none", None),
    "BM.GPU.A10.4": (4, "nvidia", "A10", 0, None, None, "none", None),
    "VM.GPU.A100.80G.1": (1, "nvidia", "A100-80", 0, None, None, "none", None),
}

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


DGX_WITH_NAMES = {"server.dgx-a100.8", "server.dgx-h100.8", "server.dgx-h200.8"}


def of_provider(provider: str) -> list[str]:
    return [name for name, shape in SHAPES.items() if shape.provider == provider]


def has_all_neighbours(shape: Shape) -> bool:
    """Whether nearest GPUs are published, and there is a rail for each GPU."""
    return shape.rails >= shape.gpus.count and all(nic.nearest_gpu is not None for nic in shape.nics)


def devices(shape: Shape) -> list[str | None]:
    return [nic.rdma_device for nic in shape.nics]


def test_every_shape_of_oracles_overview_is_there_and_no_other() -> None:
    assert set(of_provider("oci")) == set(OVERVIEW)


@each("name", OVERVIEW)
def test_a_shapes_row_agrees_with_the_overview(name: str) -> None:
    shape = SHAPES[name]
    nic = shape.nic_model
    ids = None if nic is None else (nic.model, nic.device_id, nic.vf_device_id)
    front_end = None if shape.front_end_nics is None else len(shape.front_end_nics)

    assert OVERVIEW[name] == (
        *(shape.gpus.count, shape.gpus.vendor, shape.gpus.model),
        *(shape.rails, ids, shape.mtu, shape.vf_support, front_end),
    )


@each("name", OVERVIEW)
def test_one_virtual_function_a_nic_where_oracle_has_a_policy_for_them(name: str) -> None:
    assert SHAPES[name].vfs_per_nic == (0 if OVERVIEW[name][6] == "none" else 1)


@each("name", HCA_NUMBERS)
def test_the_derived_hca_list_names_the_devices_of_oracles_list(name: str) -> None:
    prefix = "ionic_" if name == "BM.GPU.MI355X.8" else "mlx5_"
    derived = SHAPES[name].hca_list

    assert derived is not None
    assert derived.startswith("=")
    assert sorted(derived[1:].split(",")) == sorted(f"{prefix}{number}" for number in HCA_NUMBERS[name])


def test_the_hca_list_is_in_rail_order_after_one_equals_sign() -> None:
    assert SHAPES["BM.GPU.H200.8"].hca_list == "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"


@pytest.mark.parametrize("name", RDMA_DEVICES)
def test_rails_name_the_rdma_devices_of_the_hosts(name: str) -> None:
    assert devices(SHAPES[name]) == [f"mlx5_{number}" for number in RDMA_DEVICES[name]]


@pytest.mark.parametrize("name", ["BM.GPU4.8", "BM.GPU.A100-v2.8", "BM.GPU.B4.8", "BM.GPU.GM4.8"])
def test_an_interface_of_the_a100_hosts_follows_from_its_pci_address(name: str) -> None:
    for nic in SHAPES[name].nics:
        assert nic.pci is not None
        bus, function = int(nic.pci[5:7], 16), nic.pci[-1]
        assert nic.interface == f"enp{bus}s0f{function}"


@pytest.mark.parametrize("name", RDMA_DEVICES)
def test_two_ports_an_adapter_in_ascending_pci_order_and_two_rails_a_gpu(name: str) -> None:
    rails = SHAPES[name].nics

    assert [nic.pci for nic in rails] == sorted(nic.pci or "" for nic in rails)
    assert [nic.nearest_gpu for nic in rails] == [gpu for gpu in range(8) for _ in (0, 1)]


def test_the_misspelt_interface_is_corrected() -> None:
    assert [nic.interface for nic in SHAPES["BM.GPU.MI355X-v1.8"].nics] == [f"rdma{rail}" for rail in range(8)]


def test_the_crossed_hosts_keep_their_crossed_gpus() -> None:
    for name in ("BM.GPU.GB200-v3.4", "BM.GPU.GB300.4"):
        assert [nic.nearest_gpu for nic in SHAPES[name].nics] == [1, 1, 0, 0, 3, 3, 2, 2]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("BM.GPU.GB200-v2.4", "mlx5_3"),
        ("BM.GPU.MI355X-v1.8", "rdam0"),
        ("BM.GPU.GB200-v3.4", "4220"),
        ("BM.GPU.GB300.4", "4220"),
    ],
)
def test_a_corrected_defect_is_noted_with_what_it_was(name: str, word: str) -> None:
    assert any(note.startswith("Corrected: ") and word in note for note in SHAPES[name].notes)


def test_infiniband_hosts_are_the_first_two_gb200_and_the_dgx() -> None:
    infiniband = {name for name, shape in SHAPES.items() if shape.nic_model and shape.nic_model.link_type != "ether"}

    assert {name for name in infiniband if not name.startswith("server.dgx-")} == {
        "BM.GPU.GB200.4",
        "BM.GPU.GB200-v2.4",
    }


def test_a_dgx_h100_is_as_its_user_guide_says() -> None:
    dgx = SHAPES["server.dgx-h100.8"]
    buses = [24, 64, 79, 94, 154, 192, 206, 220]

    assert dgx.hca_list == "=mlx5_0,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_9,mlx5_10,mlx5_11"
    assert [(nic.interface, nic.pci, nic.nearest_gpu) for nic in dgx.nics] == [
        (f"ibp{bus}s0", f"0000:{bus:02x}:00.0", gpu) for gpu, bus in enumerate(buses)
    ]


def test_a_tray_of_a_dgx_gb200_has_the_devices_of_nvidias_port_table_and_oracles_addresses() -> None:
    tray, oracles = SHAPES["server.dgx-gb200.4"], SHAPES["BM.GPU.GB200-v2.4"]

    assert tray.hca_list == "=mlx5_0,mlx5_1,mlx5_4,mlx5_5"
    assert [(nic.pci, nic.rdma_device) for nic in tray.nics] == [(nic.pci, nic.rdma_device) for nic in oracles.nics]
    assert (tray.gpus.count, tray.nic_speed_gbps, {nic.interface for nic in tray.nics}) == (4, 400, {None})


@each("name", of_provider("server"))
def test_a_servers_name_follows_its_grammar_and_ends_in_the_number_of_gpus(name: str) -> None:
    word, system, gpus = name.split(".")

    assert (word, gpus) == ("server", str(SHAPES[name].gpus.count))
    assert (SHAPES[name].gpus.model or "").lower() in system


@each("name", of_provider("server"))
def test_a_server_has_a_rail_for_each_gpu_and_leaves_virtual_functions_to_its_owner(name: str) -> None:
    shape = SHAPES[name]

    assert (shape.rails, shape.vf_support, shape.vfs_per_nic) == (shape.gpus.count, "host", 0)


@each("name", SHAPES)
def test_every_shape_says_where_its_facts_come_from(name: str) -> None:
    assert SHAPES[name].source
    assert SHAPES[name].known


@each("name", SHAPES)
def test_no_two_functions_of_a_machine_share_an_address_a_device_or_an_interface(name: str) -> None:
    shape = SHAPES[name]
    nics: list[Nic | FrontEndNic] = [*shape.nics, *(shape.front_end_nics or ())]

    for facts in (
        [*(nic.pci for nic in nics), *shape.gpus.pci],
        [nic.rdma_device for nic in nics],
        [nic.interface for nic in nics],
    ):
        given = [fact for fact in facts if fact is not None]
        assert len(given) == len(set(given))


@each("name", [name for name, shape in SHAPES.items() if has_all_neighbours(shape)])
def test_every_gpu_has_its_share_of_rails_nearby(name: str) -> None:
    shape = SHAPES[name]
    nearest = [nic.nearest_gpu for nic in shape.nics]

    assert {nearest.count(gpu) for gpu in range(shape.gpus.count)} == {shape.rails // shape.gpus.count}


def test_which_shapes_lack_neighbours_is_known() -> None:
    with_rails = {name for name, shape in SHAPES.items() if shape.nics}
    boards = {name for name in of_provider("server") if name not in DGX_WITH_NAMES}

    assert {name for name in with_rails if not has_all_neighbours(SHAPES[name])} == boards | {
        "BM.GPU.B300.8",
        "BM.GPU.MI355X.8",
        "BM.GPU.RTXPRO.8",
        "BM.GPU.L40S.4",
        "BM.GPU.L40S-NC.4",
        "BM.GPU.T1.2",
        "BM.GPU.GU1.2",
    }


@pytest.mark.parametrize("table", ["oci", "servers"])
def test_no_row_is_written_twice(root: Path, table: str) -> None:
    lines = (root / FOLDER / f"{table}.yaml").read_text(encoding="utf-8").splitlines()
    rows = [line.partition(":")[0] for line in lines if line[:1].isalpha()]

    assert len(rows) == len(set(rows)) > 5


def test_no_topology_file_is_made_without_the_addresses_it_needs() -> None:
    tree = catalog().topologies["BM.GPU.H100.8"]

    with pytest.raises(ValueError, match=r"BM\.GPU\.B300\.8: a topology file needs the PCI addresses of all GPUs"):
        topology_xml(SHAPES["BM.GPU.B300.8"], tree)


def test_the_shape_that_the_documentation_describes_inline_is_accepted(root: Path) -> None:
    text = (root / "docs/shapes.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```yaml\n(.*?)```", text, flags=re.DOTALL)
    rows = yaml.safe_load(example)["config"]["gpu-fabric:cluster"]["shapes"]

    assert {name: Hardware.model_validate(row).hca_list for name, row in rows.items()} == {"lab-h100": "=mlx5_0,mlx5_1"}


def test_the_documentation_names_every_shape_that_was_corrected(root: Path) -> None:
    text = (root / "docs/shapes.md").read_text(encoding="utf-8")
    corrected = [name for name, shape in SHAPES.items() if any("Corrected" in note for note in shape.notes)]

    assert corrected
    assert [name for name in corrected if name not in text] == []
