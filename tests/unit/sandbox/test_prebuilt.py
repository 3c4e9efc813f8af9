"""PREBUILT=1: what is fetched, what is not, and that nothing stays of a download that is not what was published."""

import hashlib
import io
import platform
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from sandbox.failure import SandboxError
from sandbox.toolchain import build, prebuilt
from sandbox.toolchain.prebuilt import Archive
from sandbox.toolchain.progress import Progress
from sandbox.toolchain.recipes import recipes, version_tuple


def _tar(*names: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for name in names:
            text = f"#!/bin/sh\necho {Path(name).name}\n".encode()
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return packed.getvalue()


class Vendor:
    """A server on loopback with the files of a release."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.asked: list[str] = []
        vendor = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                vendor.asked.append(self.path)
                content = vendor.files.get(self.path)
                self.send_response(404 if content is None else 200)
                self.end_headers()
                self.wfile.write(content or b"")

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def offers(self, path: str, content: bytes, *programs: str, machines: tuple[str, ...] = ("amd64",)) -> Archive:
        self.files[path.format(machine="amd64")] = content
        digest = f"sha512:{hashlib.sha512(content).hexdigest()}"
        digests = dict.fromkeys(machines, digest)
        return Archive(url=self.address + path, programs=programs, digests=digests, source="this test")


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendor]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")  # no Go, no kwok, no kubectl of the machine
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setenv("PREBUILT", "1")
    vendor = Vendor()
    thread = threading.Thread(target=vendor.server.serve_forever)
    thread.start()
    yield vendor
    vendor.server.shutdown()
    vendor.server.server_close()
    thread.join()


@pytest.fixture
def said() -> Progress:
    return Progress(Console(file=io.StringIO(), width=200))


def _lock(monkeypatch: pytest.MonkeyPatch, **archives: Archive | tuple[Archive, ...]) -> None:
    listed = {
        name.replace("_", "-"): found if isinstance(found, tuple) else (found,) for name, found in archives.items()
    }
    monkeypatch.setattr(prebuilt, "archives", lambda: listed)


def _text(progress: Progress) -> str:
    assert isinstance(progress.console.file, io.StringIO)
    return progress.console.file.getvalue()


def _kept(cache: Path) -> list[str]:
    return sorted(str(path.relative_to(cache)) for path in cache.rglob("*") if path.is_file())


def test_a_control_plane_and_kwok_are_fetched_once_and_run(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")
    server = _tar("kubernetes/LICENSES", *(f"kubernetes/server/bin/{part}" for part in parts))
    _lock(
        monkeypatch,
        control_plane=(
            vendor.offers("/server-{machine}.tar.gz", server, *parts),
            vendor.offers("/etcd-{machine}.tar.gz", _tar("./etcd-v1/README.md", "./etcd-v1/etcd"), "etcd"),
        ),
        kwok=vendor.offers("/kwok-{machine}", b"#!/bin/sh\necho kwok\n", "kwok"),
    )

    toolchain = build.ensure(["control-plane", "kwok"], said)

    for role in (*parts, "etcd", "kwok"):
        assert subprocess.run(toolchain.role(role), capture_output=True, text=True).stdout == f"{role}\n"
    assert vendor.asked == ["/server-amd64.tar.gz", "/etcd-amd64.tar.gz", "/kwok-amd64"]
    assert "downloaded etcd-amd64.tar.gz" in _text(said)

    monkeypatch.delenv("PREBUILT")
    again = build.ensure(["control-plane", "kwok"], said)
    assert again.role("etcd") == toolchain.role("etcd")
    assert len(vendor.asked) == 3


def test_another_content_is_refused_with_both_digests_and_nothing_stays(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    archive = vendor.offers("/kwok", b"published", "kwok")
    vendor.files["/kwok"] = b"published and changed"
    _lock(monkeypatch, kwok=archive)

    with pytest.raises(SandboxError, match="is not what was published") as caught:
        build.ensure(["kwok"], said)

    assert hashlib.sha512(b"published").hexdigest() in caught.value.message
    assert hashlib.sha512(b"published and changed").hexdigest() in caught.value.message
    assert "leave PREBUILT out" in caught.value.remedy
    assert _kept(tmp_path) == []


@pytest.mark.parametrize(
    ("inside", "problem"), [(None, r"b.tar.gz could not be downloaded: .*404"), ("etcdctl", "b.tar.gz has no etcd$")]
)
def test_a_second_archive_that_fails_leaves_nothing_of_the_first(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, inside: str | None, problem: str
) -> None:
    good = vendor.offers("/a.tar.gz", _tar("kubectl"), "kubectl")
    bad = vendor.offers("/b.tar.gz", _tar(inside or "etcd"), "etcd")
    if inside is None:
        del vendor.files["/b.tar.gz"]
    _lock(monkeypatch, control_plane=(good, bad))

    with pytest.raises(SandboxError, match=problem):
        build.ensure(["control-plane"], said)

    assert _kept(tmp_path) == []


@pytest.mark.parametrize("value", [None, "", "0"])
def test_nothing_is_fetched_without_the_variable(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    _lock(monkeypatch, kwok=vendor.offers("/kwok", b"published", "kwok"))
    if value is None:
        monkeypatch.delenv("PREBUILT")
    else:
        monkeypatch.setenv("PREBUILT", value)

    assert prebuilt.folder("kwok", said) is None
    assert vendor.asked == []


@pytest.mark.parametrize(
    ("system", "machine"), [("Linux", "aarch64"), ("Linux", "riscv64"), ("Darwin", "x86_64"), ("Darwin", "arm64")]
)
def test_nothing_is_fetched_for_a_machine_without_a_digest(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, system: str, machine: str
) -> None:
    known = vendor.offers("/known", b"known", "etcd", machines=("amd64", "arm64"))
    unknown = vendor.offers("/unknown", b"unknown", "kubectl")
    _lock(monkeypatch, control_plane=(known, unknown))
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)

    assert prebuilt.folder("control-plane", said) is None
    assert vendor.asked == []


def test_what_has_no_digest_is_built_and_said(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _lock(monkeypatch)
    built: list[str] = []
    monkeypatch.setattr(build, "find_go", lambda say: build.Go(tmp_path / "go", (1, 26, 0)))
    monkeypatch.setattr(build, "_build", lambda recipe, *_: built.append(recipe.name))

    build.ensure(["kwok"], said)

    assert built == ["kwok"]
    assert "built from source, since no digest of a release for this machine is known: kwok" in _text(said)


def test_the_lock_file_has_whole_digests_and_releases_that_are_recent_enough() -> None:
    lengths = {"sha256": 64, "sha512": 128}
    for name, archives in prebuilt.archives().items():
        recipe = recipes()[name]
        programs = {program for archive in archives for program in archive.programs}
        assert programs == set(recipe.roles or recipe.outputs), name
        for archive in archives:
            assert archive.url.startswith("https://"), archive.url
            assert archive.source, archive.url
            for digest in archive.digests.values():
                algorithm, _, hexadecimal = digest.partition(":")
                assert len(bytes.fromhex(hexadecimal)) * 2 == lengths[algorithm], archive.url
            version = version_tuple(archive.url.partition("/v")[2] or archive.url.partition("-v")[2])
            for program in archive.programs:
                if program in recipe.roles:
                    assert version >= version_tuple(recipe.roles[program].at_least), archive.url
                elif recipe.plugin:
                    assert version == version_tuple(recipe.plugin.version), archive.url


def _packed(vendor: Vendor, folder: Path) -> Path:
    """A release's file, whose archives the server has: kwok, built by this checkout's recipe."""
    (folder / "built").mkdir(parents=True)
    (folder / "built" / "kwok").write_bytes(b"#!/bin/sh\necho kwok of a release\n")
    listed = prebuilt.pack([(recipes()["kwok"], folder / "built")], folder / "dist", vendor.address, "this test")
    for file in (folder / "dist").glob("*.tar.gz"):
        vendor.files[f"/{file.name}"] = file.read_bytes()
    return listed


def test_what_a_release_has_packed_is_fetched_in_the_place_of_a_build_and_stays_in_use(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _lock(monkeypatch)
    monkeypatch.setenv("PREBUILT", str(_packed(vendor, tmp_path / "release")))

    toolchain = build.ensure(["kwok"], said)

    assert subprocess.run(toolchain.role("kwok"), capture_output=True, text=True).stdout == "kwok of a release\n"
    assert vendor.asked == ["/kwok-linux-amd64.tar.gz"]
    monkeypatch.delenv("PREBUILT")
    assert build.ensure(["kwok"], said).role("kwok") == toolchain.role("kwok")
    assert len(vendor.asked) == 1


def test_the_same_binaries_are_packed_into_the_same_bytes(vendor: Vendor, tmp_path: Path) -> None:
    first, second = (_packed(vendor, tmp_path / name) for name in ("first", "second"))

    assert first.read_bytes() == second.read_bytes()
    assert (first.parent / "kwok-linux-amd64.tar.gz").read_bytes() == vendor.files["/kwok-linux-amd64.tar.gz"]


def test_what_another_recipe_has_built_is_not_taken(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _lock(monkeypatch)
    listed = _packed(vendor, tmp_path / "release")
    listed.write_text(listed.read_text().replace(recipes()["kwok"].cache_key(""), "f" * 64))
    monkeypatch.setenv("PREBUILT", str(listed))

    assert prebuilt.folder("kwok", said) is None
    assert vendor.asked == []


def test_an_archive_of_a_release_that_was_changed_is_refused(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _lock(monkeypatch)
    monkeypatch.setenv("PREBUILT", str(_packed(vendor, tmp_path / "release")))
    vendor.files["/kwok-linux-amd64.tar.gz"] += b"more"

    with pytest.raises(SandboxError, match="is not what was published"):
        build.ensure(["kwok"], said)
    assert _kept(tmp_path / "gpu-fabric") == []


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "No such file"), ("kwok: [{url: x}]", "3 entries are not as expected"), ("- kwok", "not as expected")],
)
def test_a_file_that_lists_no_archives_is_named(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str | None, problem: str
) -> None:
    file = tmp_path / "prebuilt.yaml"
    if content is not None:
        file.write_text(content)
    monkeypatch.setenv("PREBUILT", str(file))

    with pytest.raises(SandboxError, match=problem) as caught:
        prebuilt.folder("kwok", said)
    assert str(file) in caught.value.message


def test_what_is_packed_is_built_here_whatever_the_machine_has(
    vendor: Vendor, said: Progress, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _lock(monkeypatch, kwok=vendor.offers("/kwok", b"#!/bin/sh\necho kwok v9.0.0\n", "kwok"))
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "kwok").write_text("#!/bin/sh\necho kwok v9.0.0\n")
    (programs / "kwok").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    made: list[str] = []
    monkeypatch.setattr(build, "find_go", lambda say: build.Go(tmp_path / "go", (1, 26, 0)))
    monkeypatch.setattr(build, "_build", lambda recipe, *_: made.append(recipe.name))

    build.ensure(["kwok"], said, built=True)

    assert made == ["kwok"]
    assert vendor.asked == []
