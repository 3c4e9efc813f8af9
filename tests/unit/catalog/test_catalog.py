"""The catalog: facts as data, checked when they are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.catalog import Shape
from gpu_fabric.catalog.doks import DoksTable
from gpu_fabric.catalog.reading import CatalogError, catalog, read_model, read_shapes


def row(shape: str) -> dict[str, Any]:
    return catalog().shapes[shape].model_dump()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"pci": "0000:0c:00.1"}, "pci given to two NICs: 0000:0c:00.1"),
        ({"rdma_device": "mlx5_1"}, "rdma_device given to two NICs: mlx5_1"),
        ({"interface": "eth0"}, "interface given to two NICs: eth0"),
        ({"pci": "0000:0f:00.0"}, "PCI address of a GPU and of a NIC: 0000:0f:00.0"),
        ({"pci": "0000:0C:00.0"}, "is not a valid PCI address; write dddd:bb:dd.f in lower case"),
        ({"interface": "n" * 16}, "is not a valid interface name; write at most 15 letters"),
        ({"nearest_gpu": 8}, "rail 0 names GPU 8 of 8"),
        ({"pci": None}, "pci is given for some RDMA NICs only; give it for all or for none"),
    ],
)
def test_a_row_that_contradicts_itself_is_refused(change: dict[str, Any], reason: str) -> None:
    wrong = row("BM.GPU.H100.8")
    wrong["nics"][0].update(change)

    with pytest.raises(ValidationError, match=re.escape(reason)):
        Shape.model_validate(wrong)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"nic_model": None}, "RDMA NICs are listed, but nicModel is missing"),
        ({"nics": [], "nic_model": None}, "virtual functions without RDMA NICs"),
        ({"vf_support": "none"}, "virtual functions are counted, but vfSupport is none"),
        ({"provider": "doks"}, "the section `doks` belongs to provider doks, and to no other"),
        ({"source": ""}, "at least 1 character"),
        (
            {"gpus": {"vendor": "nvidia", "count": 8, "pci": ("0000:0f:00.0",) * 8}},
            "1 different PCI addresses for 8 GPUs",
        ),
    ],
)
def test_a_row_whose_parts_do_not_fit_is_refused(change: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        Shape.model_validate(row("BM.GPU.H100.8") | change)


def test_a_bad_row_of_a_table_is_named_with_its_file(tmp_path: Path) -> None:
    table = tmp_path / "oci.yaml"
    table.write_text("BM.GPU.New.8: {provider: oci, gpus: {vendor: intel, count: 8}, source: a rumour}\n")

    with pytest.raises(CatalogError, match=r"oci\.yaml: row BM\.GPU\.New\.8: gpus\.vendor: Input should be 'nvidia'"):
        read_shapes(table)


def test_a_bad_size_is_named_with_its_file(tmp_path: Path) -> None:
    table = tmp_path / "doks.yaml"
    table.write_text("models: {}\nsizes:\n  gpu-h100x8-640gb: {mtu: high, source: a rumour}\n")

    with pytest.raises(CatalogError, match=r"doks\.yaml: sizes\.gpu-h100x8-640gb\.mtu: Input should be"):
        read_model(DoksTable, table)


def test_further_shapes_join_the_catalog_and_win_over_its_rows() -> None:
    known = catalog()
    mine = known.shapes["BM.GPU.H100.8"].model_copy(update={"mtu": 9000})

    widened = known.with_shapes({"mine": mine, "BM.GPU.H100.8": mine})

    assert widened.find("mine") == widened.find("BM.GPU.H100.8") == mine
    assert known.find("mine") is None
    assert len(widened.shapes) == len(known.shapes) + 1
