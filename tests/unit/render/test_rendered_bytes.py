"""The rendered plan's bytes: the same in another process, with other settings, cut off, and by another Python."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from other_pythons import NotToBeHad, equipped, other_pythons

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
# A digest of every file of the rendered plan of each stack file that is named, and of one for the GitOps tools, in a
# process without any socket.
RENDERING = """
import hashlib, json, sys
from pathlib import Path

def refuse(event, arguments):
    if event.startswith("socket."):
        raise SystemExit(f"a plan needs no {event}: {arguments}")

sys.addaudithook(refuse)
from gpu_fabric.prepare import prepare
from gpu_fabric.render.gitops.files import TOOLS, gitops_files
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.render.layout import files
from gpu_fabric.render.rendering import rendered
from gpu_fabric.spec.load import read_document

found = {}
for path in map(Path, sys.argv[1:]):
    plan = prepare(read_document(path.name.split(".")[1], path.parent), for_up=False).plan
    texts = dict(files(rendered(plan)))
    if plan.stack == "oke-h200":
        place = Place(stack=plan.stack, repository="https://git.example.com/a.git", path="a")
        texts |= {f"{tool}/{name}": text for tool in TOOLS for name, text in gitops_files(plan, tool, place).items()}
    found[str(path)] = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in texts.items()}
print(json.dumps(found))
"""
SETTINGS = (
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "LC_ALL": "C.UTF-8"},
    {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "LC_ALL": "C", "COLUMNS": "40", "FORCE_COLOR": "1", "TERM": "xterm"},
)
Digests = dict[str, dict[str, str]]


def _stack_files() -> list[str]:
    folders = (ROOT, ROOT / "examples", ROOT / "tests" / "stacks")
    return [str(path) for folder in folders for path in sorted(folder.glob("Pulumi.*.yaml"))]


def _start(python: list[str], settings: dict[str, str], folder: Path) -> subprocess.Popen[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), **settings}
    command = [*python, "-c", RENDERING, *_stack_files()]
    return subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def _cut_off() -> list[str]:
    """What starts a program without any network; nothing where the machine has no namespaces for us."""
    for owner in ([], ["--user", "--map-root-user"]):
        command = ["unshare", *owner, "--net", "--"]
        with contextlib.suppress(OSError):
            if subprocess.run([*command, "true"], capture_output=True).returncode == 0:
                return command
    return []


def _digests(process: subprocess.Popen[str]) -> Digests:
    output, said = process.communicate()
    assert process.returncode == 0, said
    found: Digests = json.loads(output)
    return found


@pytest.fixture(scope="module")
def first_run(tmp_path_factory: pytest.TempPathFactory) -> Digests:
    return _digests(_start([sys.executable], SETTINGS[0], tmp_path_factory.mktemp("home")))


def test_every_stack_is_rendered_to_the_same_bytes_by_another_process_with_other_settings_and_no_network(
    first_run: Digests, tmp_path: Path
) -> None:
    assert list(first_run) == _stack_files()
    assert _digests(_start([*_cut_off(), sys.executable], SETTINGS[1], tmp_path)) == first_run


def test_every_stack_is_rendered_to_the_same_bytes_by_another_version_of_python(
    first_run: Digests, tmp_path: Path
) -> None:
    lacking = []
    for python in other_pythons():
        try:
            other = equipped(python, ROOT / "requirements.txt")
        except NotToBeHad as reason:
            lacking.append(str(reason))
            continue
        assert _digests(_start([other], SETTINGS[1], tmp_path)) == first_run
        return
    pytest.skip(f"no other version of Python has what a plan needs: {'; '.join(lacking) or 'there is none'}")
