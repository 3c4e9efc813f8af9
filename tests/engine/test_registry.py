"""`gpu-fabric image-check` of images in a real registry, that of go-containerregistry, to which a test pushes them."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from command_line import refusal_of, run
from saved_images import layer, layout, write_folder

from sandbox.toolchain.build import ensure
from sandbox.toolchain.progress import Progress

STACK = Path(__file__).parents[2] / "examples/Pulumi.host-device.yaml"
NAME = "team/train"


@pytest.fixture(scope="module")
def registry() -> Iterator[str]:
    """Its host and port."""
    program = ensure(["images"], Progress()).folder("registry") / "registry"
    with subprocess.Popen([str(program), "-port", "0"], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            started = re.search(r"serving on port ([0-9]+)", process.stderr.readline())
            assert started is not None
            yield f"localhost:{started[1]}"
        finally:
            process.kill()


def push(registry: str, files: Mapping[str, bytes], tag: str) -> str:
    """Push the image of an OCI layout, each blob before what names it; gives the digest of its manifest or index."""

    def send(method: str, path: str, content: bytes, media: str) -> None:
        headers = {"Content-Type": media, "Content-Length": str(len(content))}
        with urlopen(Request(f"http://{registry}/v2/{NAME}/{path}", content, headers, method=method)) as response:
            assert response.status == 201

    def manifest(entry: Mapping[str, str], name: str) -> None:
        content = files[f"blobs/sha256/{entry['digest'].removeprefix('sha256:')}"]
        document = json.loads(content)
        for each in document.get("manifests", ()):
            manifest(each, each["digest"])
        for each in (*document.get("layers", ()), *([document["config"]] if "config" in document else ())):
            blob = files[f"blobs/sha256/{each['digest'].removeprefix('sha256:')}"]
            send("POST", f"blobs/uploads/?digest={each['digest']}", blob, "application/octet-stream")
        send("PUT", f"manifests/{name}", content, entry["mediaType"])

    (entry,) = json.loads(files["index.json"])["manifests"]
    manifest(entry, tag)
    return str(entry["digest"])


def checked(image: str) -> Sequence[str]:
    """What the command prints of an image after its name."""
    result = run("image-check", image, "-f", str(STACK))
    assert (result.exit_code, result.stderr) == (1, "")
    return result.stdout.replace(image, "IMAGE").splitlines()


@pytest.mark.parametrize("by", ["gzip", "zstd"])
def test_an_image_that_was_pushed_is_what_its_layout_is(registry: str, tmp_path: Path, by: str) -> None:
    layers = [layer({"usr/bin/ssh": b"ssh" * 100_000}), layer({"usr/bin/.wh.ssh": b"", "usr/sbin/sshd": b"d"})]
    one, two = layout(layers, ("amd64",), by), layout([layer({"usr/bin/mpirun": b""})], ("arm64", "amd64"), by)
    digest = push(registry, one, by)
    index = push(registry, two, f"{by}-many")

    said = checked(f"{registry}/{NAME}:{by}")

    assert said[0] == "Image IMAGE, amd64, for stack host-device"
    assert said[1:] == checked(str(write_folder(tmp_path / "one", one)))[1:]
    assert said == checked(f"{registry}/{NAME}@{digest}")
    many = checked(f"{registry}/{NAME}:{by}-many@{index}")
    assert many[1:] == checked(str(write_folder(tmp_path / "two", two)))[1:] != said[1:]


def test_an_image_that_was_never_pushed_is_refused(registry: str) -> None:
    for image, what in ((f"{NAME}:none", f"{NAME} of version none"), ("other/train:1", "other/train of version 1")):
        message = refusal_of("image-check", f"{registry}/{image}", "-f", str(STACK))
        assert message == f"{registry}/{image}: registry {registry} has no {what}\n"
