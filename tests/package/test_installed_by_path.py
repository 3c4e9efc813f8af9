"""What pages, templates and requirement files install, where no index has the packages of this repository."""

import os
import re
import shlex
import subprocess
import sys
import threading
import tomllib
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from documented_commands import commands, pages
from installed_wheel import UV, run_in
from packaging.requirements import Requirement

import gpu_fabric

ROOT = Path(__file__).resolve().parents[2]


class Way(NamedTuple):
    """A command that installs, where it is written, and the folder that it is for."""

    written: str
    command: str
    folder: str = "project"


def _all() -> Iterator[Way]:
    for page in pages(ROOT):
        for command in commands(page, (ROOT / page).read_text()):
            if "gpu-fabric" in command.text and re.search(r"\bpip install\b", command.text):
                yield Way(command.place, command.text)
    for file in sorted((ROOT / "templates").glob("*/Pulumi.yaml")):
        quickstart = yaml.safe_load(file.read_text()).get("template", {}).get("quickstart", "")
        for command in re.findall(r"\S*pip install .+?(?=  |\n)", quickstart):
            yield Way(str(file.relative_to(ROOT)), command)
    for file in sorted((ROOT / "templates").glob("*/requirements.txt")):
        (line,) = re.findall(r"^[^#\n]+$", file.read_text(), re.MULTILINE)
        yield Way(str(file.relative_to(ROOT)), f"pip install {line}")
    yield Way("components/requirements.txt", "pip install -r requirements.txt", "gpu-fabric/components")


# What builds a wheel is that of the tests' environment, of which pip takes no other package.
OPTIONS = ("--no-build-isolation", "--ignore-installed")
ALL = list(_all())
# What is written in several places is tried once.
WAYS = {(*shlex.split(way.command)[1:], way.folder): way for way in ALL}.values()


class Place(NamedTuple):
    """An environment with pip and what builds a wheel, the folder of checkout and project, one of others' packages."""

    python: Path
    folder: Path
    others: Path

    def install(self, way: Way, *options: str) -> subprocess.CompletedProcess[str]:
        """Run the command as it is written, but that nothing is installed in the end."""
        words = shlex.split(way.command)[1:]
        return run_in([self.python, "-m", "pip", *words, "--dry-run", *OPTIONS, *options], self.folder / way.folder)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("by-path")
    (folder / "project").mkdir()
    (folder / "gpu-fabric").symlink_to(ROOT)
    subprocess.run([*UV, "venv", "--quiet", "--python", sys.executable, folder / "venv"], check=True)
    # The pip, too, is that of the tests.
    packages = next((folder / "venv").glob("lib/python*/site-packages"))
    (packages / "tests.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    return Place(folder / "venv/bin/python", folder, _empty_wheels(folder / "others"))


def _empty_wheels(folder: Path) -> Path:
    """A package without content for each that the three projects need, and none for the projects themselves."""
    folder.mkdir()
    for file in ("pyproject.toml", "policy/pyproject.toml", "sandbox/pyproject.toml"):
        project = tomllib.loads((ROOT / file).read_text())["project"]
        extras = project.get("optional-dependencies", {}).values()
        for needed in map(Requirement, (*project["dependencies"], *(entry for extra in extras for entry in extra))):
            version = re.findall(r"(?:==|>=)([\d.]+)", str(needed.specifier))
            if needed.name.startswith("gpu-fabric"):
                continue
            name, of_wheel = (
                needed.name.replace("-", "_"),
                "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            )
            with zipfile.ZipFile(folder / f"{name}-{version[0]}-py3-none-any.whl", "w") as wheel:
                described = f"Metadata-Version: 2.1\nName: {needed.name}\nVersion: {version[0]}\n"
                for file_name, text in {"METADATA": described, "WHEEL": of_wheel, "RECORD": ""}.items():
                    wheel.writestr(f"{name}-{version[0]}.dist-info/{file_name}", text)
    return folder


def test_pages_templates_and_the_provider_are_among_what_is_tried() -> None:
    written = {way.written.partition(":")[0] for way in ALL}

    assert {"docs/policy.md", "components/requirements.txt", "templates/existing-typescript/Pulumi.yaml"} <= written


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.written)
def test_what_a_page_installs_comes_from_the_checkout_without_an_index_that_has_the_name(
    place: Place, way: Way
) -> None:
    done = place.install(way, "--no-index", "--find-links", str(place.others))

    assert done.returncode == 0, done.stderr
    assert re.search(rf"Would install .*\bgpu-fabric(-[a-z]+)*-{re.escape(gpu_fabric.__version__)}\b", done.stdout), (
        done.stdout
    )


class _Index(BaseHTTPRequestHandler):
    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.mark.parametrize("way", [way for way in WAYS if way.folder == "project"], ids=lambda way: way.written)
def test_without_the_checkout_it_ends_with_an_error_and_asks_no_index(
    place: Place, way: Way, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alone = place._replace(folder=tmp_path)
    (tmp_path / "project").mkdir()
    monkeypatch.setattr(_Index, "asked", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), _Index) as index:
        threading.Thread(target=index.serve_forever, daemon=True).start()
        done = alone.install(way, "--index-url", f"http://127.0.0.1:{index.server_port}/simple", "--retries", "0")
        index.shutdown()

    assert done.returncode != 0
    assert _Index.asked == []


def test_make_asks_the_index_that_pip_is_set_up_with_and_says_where_packages_come_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    venv = tmp_path / "venv"
    subprocess.run([*UV, "venv", "--quiet", venv], check=True)
    (venv / "bin/uv").symlink_to(Path(sys.executable).with_name("uv"))
    (venv / ".ready").touch()
    monkeypatch.setattr(_Index, "asked", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), _Index) as index:
        threading.Thread(target=index.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{index.server_port}/ours"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("UV_", "MAKE"))}
        done = subprocess.run(
            ["make", "setup-dev", f"VENV={venv}"],
            cwd=ROOT,
            env=kept | {"PIP_INDEX_URL": address, "UV_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=False,
        )
        index.shutdown()

    assert done.returncode != 0
    assert _Index.asked
    assert all(path.startswith("/ours/") for path in _Index.asked)
    assert "the index that PIP_INDEX_URL names" in done.stderr
    assert not (venv / ".ready-dev").exists()
