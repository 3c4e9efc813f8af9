"""`gpu-fabric image-check`: what of an image does not fit a stack, for images that the tests write."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from command_line import refusal_of, run
from saved_images import Files, compressed, layer, layout, provider_library, saved, write_folder, write_tar

from gpu_fabric.catalog import catalog
from gpu_fabric.image.judging import CheckedImage, checked_image
from gpu_fabric.image.layers import ImageError, read_image
from gpu_fabric.image.software import Chooser, abi_range, software_of
from gpu_fabric.prepare import PlannedStack, prepare
from gpu_fabric.spec.load import document_of

WANTED = Chooser(row.name for row in catalog().job_images.providers)
ROOT = Path(__file__).parents[3]
LIB = "usr/lib/x86_64-linux-gnu"
MLX5 = {
    f"{LIB}/libmlx5.so.1.24.50.0": provider_library("mlx5", 1, 1),
    f"{LIB}/libibverbs/libmlx5-rdmav34.so": "-> ../libmlx5.so.1.24.50.0",
    "etc/libibverbs.d/mlx5.driver": "driver mlx5\n",
}
VERBS = {f"{LIB}/libibverbs.so.1.14.50.0": b"\0%s-rdmav34.so\0", f"{LIB}/libibverbs.so.1": "-> libibverbs.so.1.14.50.0"}
NCCL = {f"{LIB}/libnccl.so.2.30.4": b"\0" * 999 + b"NCCL version 2.30.4+cuda13.3\0"}
SSH = {"usr/bin/ssh": b"", "usr/sbin/sshd": b""}
RIGHT: Files = {**VERBS, **MLX5, **NCCL, **SSH}
RCCL = {"opt/rocm/lib/librccl.so.1.0.70101": b"RCCL version : 2.27.7-HEAD:1"}
IONIC = {
    f"{LIB}/libibverbs/libionic-rdmav34.so": provider_library("ionic", 1, 1),
    "etc/libibverbs.d/ionic.driver": "driver ionic",
}
VERIFYING = ("verification", "{enabled: true, image: registry.example/nccl-tests:2.30.4}")


def without(part: Files) -> Files:
    return {path: content for path, content in RIGHT.items() if path not in part}


def older(release: str) -> Files:
    return {"opt/lib/nvidia/nccl/lib/libnccl.so.2": f"NCCL version {release}+cuda12.1".encode()}


@dataclass(frozen=True)
class Row:
    """An image as its layers from the lowest, and what is found in it on an H100 stack."""

    layers: Sequence[Files]
    finds: tuple[str, ...] = ()
    says: str = ""
    by: str | None = None
    """What compresses the layers of an OCI layout; None for what `docker save` writes."""

    architectures: tuple[str, ...] = ("amd64",)
    stack: str = ""
    """An example; empty for the development stack, of which NICs go whole into pods."""
    shape: str = ""
    changes: tuple[tuple[str, str], ...] = ()
    abi: int | None = None


ROWS = {
    "right": Row([RIGHT]),
    "provider missing": Row([without(MLX5)], ("IMG012",), "no libmlx5-rdmav*.so is in the image"),
    "provider that no file names": Row(
        [{path: content for path, content in RIGHT.items() if not path.endswith(".driver")}], ("IMG013",),
        "no file in /etc/libibverbs.d names it"),
    "provider of another libibverbs": Row([{**RIGHT, f"{LIB}/libibverbs.so.1.14.50.0": b"-rdmav57.so"}], ("IMG013",),
        "loads *-rdmav57.so, and not"),
    "provider whose link leads nowhere": Row(
        [{**RIGHT, f"{LIB}/libibverbs/libmlx5-rdmav34.so": "-> ../libmlx5.so.1.9"}], ("IMG012",)),
    "no libibverbs": Row([without(VERBS)], ("IMG011",), "libibverbs.so.1"),
    "ABI that the nodes do not have": Row([RIGHT], ("IMG014",), "takes ABI 1, and the nodes' kernel driver has 6",
        abi=6),
    "ABI that the nodes have": Row([RIGHT], abi=1),
    "a vendor's library, by its path": Row(
        [
            {
                **without(MLX5),
                "opt/ofed/libmlx5-rdmav34.so": provider_library("mlx5", 4, 7, packed=True),
                "etc/libibverbs.d/mlx5.driver": "# OFED\ndriver /opt/ofed/libmlx5\n",
            }
        ],
        ("IMG015",),
        "takes ABI 4 to 7, and the kernel's own driver has 1",
    ),
    "library that shows no ABI": Row([{**RIGHT, f"{LIB}/libmlx5.so.1.24.50.0": b"\x7fELF\x02\x01 cut"}], ("IMG019",),
        "does not show which ABI"),
    "old NCCL": Row([{**without(NCCL), **older("2.18.5")}], ("NCL019", "NCL024"),
        "it came with NCCL 2.29.7, and the jobs' images have 2.18.5",
        changes=(("fabric", "{resilience: port-failover}"),)),
    "NCCL with a defect on these GPUs": Row([{**without(NCCL), **older("2.29.3")}], ("NCL022",), "NVLSTree",
        shape="BM.GPU.B300.8"),
    "two releases of NCCL": Row([{**RIGHT, **older("2.30.3")}], ("IMG017",), "2.30.4 (usr/lib"),
    "another release than is stated": Row([RIGHT], ("IMG017",), "fabric.nccl.version is 2.30.5",
        changes=(("fabric", "nccl: {version: 2.30.5}"),)),
    "no NCCL": Row([without(NCCL)], ("IMG016",)),
    "foreign architecture": Row([RIGHT], ("IMG010",), "it is arm64, and BM.GPU.H100.8 is", architectures=("arm64",)),
    "no ssh where the stack measures": Row([{**without(SSH), "opt/nccl-tests/build/all_reduce_perf": b""}], ("IMG018",),
        "no ssh, sshd, mpirun, which the stack's verification", changes=(VERIFYING,)),
    "no UCX where the stack measures by it": Row(
        [{**RIGHT, **dict.fromkeys(("usr/bin/mpirun", "opt/all_reduce_perf"), b"")}], ("IMG018",),
        "no ucx_perftest, which the stack's verification",
        changes=((VERIFYING[0], "{enabled: true, image: 'registry.example/a:1', pointToPoint: {}}"),)),
    "AMD's own provider and library": Row([{**VERBS, **IONIC, **RCCL}], shape="BM.GPU.MI355X.8",
        stack="mi300x-macvlan"),
    "NICs whose driver is not known": Row([{**RIGHT, **RCCL}], ("IMG019", "IMG019"),
        "not known, and the image has: mlx5", stack="mi300x-macvlan"),
    "no provider at all": Row([{**VERBS, **RCCL}], ("IMG012", "IMG019"), "no provider of mlx5, bnxt_re",
        stack="mi300x-macvlan"),
    "removed by a layer above": Row([RIGHT, {"etc/libibverbs.d/.wh.mlx5.driver": b""}], ("IMG013",)),
    "folder removed by a layer above": Row([RIGHT, {f"{LIB}/.wh.libibverbs": b""}], ("IMG012",)),
    "folder emptied by a layer that fills it again": Row(
        [RIGHT, {"etc/libibverbs.d/.wh..wh..opq": b"", "etc/libibverbs.d/efa.driver": "driver efa"}], ("IMG013",)),
    "file in the place of a folder": Row([RIGHT, {"etc/libibverbs.d": b""}], ("IMG013",)),
    "changed by a layer above": Row([RIGHT, {f"{LIB}/libmlx5.so.1.24.50.0": provider_library("mlx5", 2, 2)}],
        ("IMG015",)),
    "OCI layout": Row([RIGHT], by=""),
    "OCI layout by gzip": Row([RIGHT], by="gzip"),
    "OCI layout by zstd": Row([RIGHT], by="zstd"),
    "OCI layout of two architectures": Row([RIGHT], by="gzip", architectures=("arm64", "amd64")),
    "OCI layout with two variants of another architecture": Row([RIGHT], by="zstd",
        architectures=("arm", "arm", "amd64")),
    "OCI layout of other architectures": Row([RIGHT], ("IMG010",), by="gzip", architectures=("arm64", "riscv64")),
}  # fmt: skip


@cache
def planned(stack: str, shape: str, changes: tuple[tuple[str, Any], ...]) -> PlannedStack:
    file = ROOT / (f"examples/Pulumi.{stack}.yaml" if stack else "Pulumi.dev.yaml")
    document = yaml.safe_load(file.read_text(encoding="utf-8"))["config"]
    document["gpu-fabric:fabric"] |= {} if stack else {"model": "host-device", "vfsPerNic": 0}
    if shape:
        document["gpu-fabric:cluster"]["pools"][0]["shape"] = shape
    for section, value in changes:
        document[f"gpu-fabric:{section}"] = document.get(f"gpu-fabric:{section}", {}) | yaml.safe_load(value)
    text = yaml.safe_dump({"config": document})
    return prepare(document_of(text, "lab", ROOT, "Pulumi.lab.yaml"), for_up=False)


def check(image: Path, row: Row) -> CheckedImage:
    spec, plan = planned(row.stack, row.shape, row.changes)
    software = software_of(read_image(image, WANTED, "amd64"))
    return checked_image("image.tar", software, spec, plan, row.abi)


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())
def test_what_does_not_fit_is_found_and_nothing_else(row: Row, tmp_path: Path) -> None:
    layers = [layer(files) for files in row.layers]
    files = saved(layers, row.architectures[0]) if row.by is None else layout(layers, row.architectures, row.by)

    checked = check(write_tar(tmp_path / "image.tar", files), row)

    assert sorted(entry.id for entry in checked.findings) == sorted(row.finds)
    assert row.says in " ".join(entry.message for entry in checked.findings)


def test_the_command_names_what_was_found_where_and_what_mends_it(tmp_path: Path) -> None:
    image = write_tar(tmp_path / "image.tar", saved([layer(without(MLX5))]))

    result = run("image-check", str(image), "-f", str(ROOT / "examples/Pulumi.host-device.yaml"))

    assert (result.exit_code, result.stderr) == (1, "")
    assert result.stdout.replace(str(image), "…").splitlines() == [
        "Image … (train:1), amd64, for stack host-device",
        "    libibverbs  usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.50.0, loads *-rdmav34.so",
        "    nccl        2.30.4, usr/lib/x86_64-linux-gnu/libnccl.so.2.30.4",
        "    ssh         usr/bin/ssh",
        "    sshd        usr/sbin/sshd",
        "error IMG012 provider mlx5: no libmlx5-rdmav*.so is in the image, and server.dgx-h100.8's RDMA NICs need it",
        "    -> install ibverbs-providers (Debian, Ubuntu) or libibverbs (RPM), or NVIDIA's DOCA-OFED",
        "1 error, 0 warnings",
    ]


def test_a_folder_with_an_oci_layout_and_hard_links_is_read_as_a_tar_is(tmp_path: Path) -> None:
    plugin = f"{LIB}/libibverbs/libmlx5-rdmav34.so"
    files = {path: content for path, content in RIGHT.items() if path != plugin}
    folder = write_folder(tmp_path / "image", layout([layer(files, {plugin: f"{LIB}/libmlx5.so.1.24.50.0"})]))

    assert check(folder, ROWS["right"]).findings == ()


GOOD = saved([layer(RIGHT)])
# The header of a long name of 8 GiB.
HUGE_HEADER = b"\0" * 124 + b"77777777777\0" + b"\0" * 12 + b" " * 8 + b"L" + b"\0" * 100 + b"ustar\x0000" + b"\0" * 247


def _with_sum(header: bytes) -> bytes:
    return header[:148] + f"{sum(header):06o}\0 ".encode() + header[156:]


BROKEN = {
    "nothing": (b"", "it is not a tar"),
    "text": (b"FROM ubuntu\n" * 99, "it is not a tar"),
    "no image": (layer({"a": b""}), "neither manifest.json nor index.json"),
    "cut": (layer(GOOD)[: len(GOOD["0/layer.tar"])], "unexpected end of data"),
    "no configuration": (layer({**GOOD, "config.json": b"{}"}), "has no rootfs"),
    "no JSON": (layer({**GOOD, "manifest.json": b"[[["}), "manifest.json is not JSON"),
    "nested without end": (layer({**GOOD, "manifest.json": b"[" * 200_000}), "manifest.json is not JSON"),
    "missing layer": (layer({k: v for k, v in GOOD.items() if "layer" not in k}), "the image does not have it"),
    "two images": (layer({**GOOD, "manifest.json": b'[{"RepoTags": ["a:1"]}, {"RepoTags": ["b:1"]}]'}),
        "it has 2 images (a:1, b:1): save one alone"),
    "changed layer": (layer({**GOOD, "0/layer.tar": layer({"usr/bin/ssh": b""})}), "does not have the digest"),
    "path outside": (layer({**GOOD, "manifest.json": b'[{"Config": "../../etc/passwd"}]'}), "it has no ../"),
    "layer cut by gzip": (layer({**GOOD, "0/layer.tar": compressed(layer(RIGHT), "gzip")[:300]}),
        "layer 1 of 1 (0/layer.tar) cannot be read"),
    "layer cut by zstd": (layer({**GOOD, "0/layer.tar": compressed(layer(RIGHT), "zstd")[:300]}),
        "layer 1 of 1 (0/layer.tar) cannot be read"),
    "zstd of a window that no tool writes": (layer({**GOOD, "0/layer.tar": b"\x28\xb5\x2f\xfd\x00\xa8" + b"\0" * 99}),
        "Frame requires too much memory"),
    "header without end": (layer({**GOOD, "0/layer.tar": _with_sum(HUGE_HEADER)}), "at most 32 MiB are read"),
    "index of itself": (layer({"index.json": b'{"manifests": []}'}), "its index names no image"),
    "another configuration than its digest says": (layer({name: content.replace(b"amd64", b"arm64")
        for name, content in layout([layer(RIGHT)]).items()}), "has another content than its digest says"),
    "digest of another kind": (layer({"index.json": b'{"manifests": [{"digest": "md5:1"}]}'}), "that is not sha256"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "says"), BROKEN.values(), ids=BROKEN.keys())
def test_what_is_not_a_whole_image_is_refused_in_one_message(content: bytes, says: str, tmp_path: Path) -> None:
    image = tmp_path / "image.tar"
    image.write_bytes(content)

    with pytest.raises(ImageError) as refused:
        read_image(image, WANTED)

    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_layout_does_not_lead_out_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_bytes(GOOD["config.json"])
    index = json.dumps({"manifests": [{"digest": "sha256:" + "../" * 21 + "x"}]}).encode()
    folder = write_folder(tmp_path / "image", {"index.json": index})

    with pytest.raises(ImageError, match="that is not sha256"):
        read_image(folder, WANTED)


def test_the_command_refuses_what_is_no_image_and_says_how_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(b"")
    message = refusal_of("image-check", str(tmp_path / "image.tar"), "-f", str(ROOT / "Pulumi.dev.yaml"))

    assert message.startswith(f"{tmp_path}/image.tar: it is not a tar")
    assert "write the image with its registry, as in docker.io/" in refusal_of("image-check", "debian:13")


@pytest.mark.parametrize("packed", [False, True])
def test_the_abi_of_a_library_is_read_from_its_operations(*, packed: bool) -> None:
    library = provider_library("bnxt_re", 1, 6, packed=packed)

    assert abi_range(library, "bnxt_re") == (1, 6)
    assert abi_range(library, "mlx5") is None
    assert abi_range(library[:200], "bnxt_re") is None


def test_every_shape_with_rdma_nics_of_a_known_driver_has_a_provider() -> None:
    table = catalog().job_images
    drivers = {shape.nic_model.driver for shape in catalog().shapes.values() if shape.nic_model is not None}

    assert {driver for driver in drivers if driver is not None and table.provider_of(driver) is None} == set()
    assert [table.architecture_of(catalog().shapes[name], None) for name in ("BM.GPU.GB300.4", "BM.GPU.B200.8")] == [
        "arm64",
        "amd64",
    ]
