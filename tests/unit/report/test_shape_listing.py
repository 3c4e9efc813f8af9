"""`gpu-fabric shapes`: what a user reads in it, and what a program does."""

import json
from functools import partial
from io import StringIO
from typing import Any

import command_line
import pytest
from each_case import each
from rich.console import Console, RenderableType

from gpu_fabric.catalog import catalog
from gpu_fabric.report.pages.shapes import shape_page

KNOWN = catalog()


text_of, refusal_of = partial(command_line.result_of, "shapes"), partial(command_line.refusal_of, "shapes")


def document_of(*arguments: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text_of(*arguments, "--json"))
    return document


def at_120_columns(report: RenderableType) -> str:
    console = Console(width=120, file=StringIO(), no_color=True)
    console.print(report)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def line_of(text: str, name: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.split()[:1] == [name])


def test_the_table_shows_what_a_shape_brings_on_one_line() -> None:
    text = text_of()

    assert line_of(text, "BM.GPU.H100.8") == (
        ["BM.GPU.H100.8", "oci", "8", "H100", "16", "ConnectX-7", "RoCE", "4220", "preview", "yes"]
    )
    assert line_of(text, "BM.GPU.GB200-v2.4")[-4:] == ["4220", "experimental", "-", "*"]
    assert line_of(text, "gpu-l40sx1-48gb") == ["gpu-l40sx1-48gb", "doks", "1", "L40S", *["-"] * 6]
    assert line_of(text, "server.dgx-b300.8")[2:8] == ["8", "B300", "8", "ConnectX-8", "IB", "-"]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (["--provider", "server", "--gpu", "h100"], {"server.dgx-h100.8", "server.hgx-h100.8"}),
        (["--provider", "oci", "--vendor", "amd"], {"BM.GPU.MI300X.8", "BM.GPU.MI355X.8", "BM.GPU.MI355X-v1.8"}),
        (
            ["--provider", "oci", "--gpu", "A1", "--no-rdma"],
            {"VM.GPU.A10.1", "VM.GPU.A10.2", "BM.GPU.A10.4", "VM.GPU.A100.80G.1"},
        ),
        (["--provider", "doks", "--gpu", "H100", "--rdma"], {"gpu-h100x8-640gb-contracted"}),
    ],
)
def test_filters_narrow_the_list(filters: list[str], expected: set[str]) -> None:
    assert set(document_of(*filters)) == expected


def test_filters_that_nothing_fits_are_refused() -> None:
    assert "no shape fits all of these filters" in refusal_of("--provider", "server", "--gpu", "L40S")


def test_json_holds_every_shape_with_what_follows_from_its_row() -> None:
    document = document_of()

    assert set(document) == {*KNOWN.shapes, *KNOWN.machines}
    h100, l40s = document["BM.GPU.H100.8"], document["gpu-l40sx1-48gb"]
    assert (h100["rails"], h100["topologyPublished"], h100["nicModel"]["vfDeviceId"]) == (16, True, "101e")
    assert h100["hcaList"].startswith("=mlx5_0,mlx5_1,mlx5_3,")
    assert (l40s["rails"], l40s["topologyPublished"], l40s["hcaList"]) == (0, False, None)
    assert l40s["doks"]["offer"] == "on-demand"


def test_one_shape_is_shown_with_its_nics_its_hca_list_its_notes_and_its_source() -> None:
    text = text_of("BM.GPU.GB200-v2.4")

    assert line_of(text, "2") == ["2", "0010:03:00.0", "mlx5_4", "rdma2", "2", "0018:01:00.0"]
    assert "=mlx5_0,mlx5_1,mlx5_4,mlx5_5" in text
    assert "Notes: Corrected: the NCCL test job names mlx5_3" in text
    assert "Source: Oracle's shapes table" in text


def test_what_is_not_published_is_said_to_be_so() -> None:
    text = text_of("BM.GPU.RTXPRO.8")

    assert line_of(text, "MTU")[1:] == ["not", "published"]
    assert line_of(text, "0") == ["0", "-", "mlx5_0", "-", "-", "-"]
    assert line_of(text_of("gpu-mi300x1-192gb-contracted"), "regions")[1:] == ["not", "published"]


def test_a_shape_without_rdma_says_so_and_has_no_nic_table() -> None:
    text = text_of("VM.GPU.A10.1")

    assert "no RDMA NICs" in text
    assert "interface" not in text


def test_an_unlisted_size_is_shown_and_called_unlisted() -> None:
    text = text_of("gpu-b300x8-2304gb-fabric-spot")

    assert "not in the catalog: read from its name" in text
    assert line_of(text, "15") == ["15", "-", "-", "fabric15", "7", "-"]


@each("name", KNOWN.shapes)
def test_every_shape_can_be_shown(name: str) -> None:
    text = at_120_columns(shape_page(KNOWN.shapes[name], KNOWN.topologies))

    assert text.startswith(f"{name} (")
    assert "None" not in text


def test_an_unknown_name_is_refused_with_the_nearest() -> None:
    assert refusal_of("BM.GPU.H100") == (
        "no shape 'BM.GPU.H100': did you mean 'BM.GPU.H100.8'? `gpu-fabric shapes` lists them\n"
    )
