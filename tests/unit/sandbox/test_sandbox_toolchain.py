"""The build driver's decisions: what is built, from what, under which key, and what stands in for a build."""

import io
import json
import re
import shutil
import stat
import time
from pathlib import Path

import pytest
from rich.console import Console

from sandbox.control_plane import ControlPlane
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome
from sandbox.toolchain import build, golang, recipes
from sandbox.toolchain.progress import Counter, Progress, duration
from sandbox.toolchain.recipes import Recipe, choose, version_tuple


def _program(path: Path, output: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{output}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Recipe:
    monkeypatch.setattr(recipes, "FOLDER", tmp_path)
    (tmp_path / "kwok").mkdir()
    (tmp_path / "kwok" / "go.mod").write_text("module kwok\n\ngo 1.26.0\n")
    return Recipe(name="kwok", group="core", module="kwok", package=".", outputs=("kwok",), minutes=1)


def test_every_recipe_has_its_go_module_with_committed_checksums_and_every_module_a_recipe() -> None:
    known = {path.parent.name for path in recipes.FOLDER.glob("*/go.sum")}
    assert {recipe.module for recipe in recipes.recipes().values()} == known
    assert known == {path.parent.name for path in recipes.FOLDER.glob("*/go.mod")}


def test_a_module_that_is_completed_here_is_replaced_by_the_folder_and_checked_by_the_committed_sums() -> None:
    completed = [(recipe, part) for recipe in recipes.recipes().values() for part in recipe.completed]
    assert completed
    for recipe, part in completed:
        folder = part.folder if part.folder.startswith("../") else f"./{part.folder}"
        assert f"\nreplace {part.module} => {folder}\n" in (recipe.folder / "go.mod").read_text()
        assert f"\n{part.module} {part.version} h1:" in (recipe.folder / "go.sum").read_text()
        assert all(any((recipe.place(part) / package).glob("*.go")) for package in part.own)
        sharing = [other for other in recipes.recipes().values() if other.module == recipe.module]
        assert {other.completed for other in sharing} == {recipe.completed}


def test_the_build_finds_a_completed_module_with_the_recipes_texts_and_packages_and_fails_without_the_texts(
    module: Recipe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, log = tmp_path / "source", tmp_path / "log" / "build.log"
    for name, text in {"a/reads.go": 'read("/templates/x")', "a/b/other.go": "package b"}.items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    log.parent.mkdir()
    monkeypatch.setattr(build, "_module_folder", lambda *asked: source)
    go = golang.Go(Path("go"), (1, 26, 8))

    def found(*own: str, **texts: str) -> dict[str, str]:
        completed = recipes.Completed(folder="../here", module="example.org/m", version="v1", own=own)
        recipe = module.model_copy(update={"completed": (completed,), "texts": texts})
        (option,) = build._overlay(recipe, go, log)
        files = json.loads(Path(option.removeprefix("-overlay=")).read_text())["Replace"]
        return {
            name.removeprefix(f"{module.folder.parent}/here/"): Path(file).read_text() for name, file in files.items()
        }

    assert found() == {"a/reads.go": 'read("/templates/x")', "a/b/other.go": "package b"}
    assert found("a") == {"a/b/other.go": "package b"}
    changed = found(**{'"/templates/': '"templates/'})
    assert changed == {"a/reads.go": 'read("templates/x")', "a/b/other.go": "package b"}
    assert (source / "a/reads.go").read_text() == 'read("/templates/x")'
    with pytest.raises(SandboxError, match=r"no file of the modules that it completes has \['/etc/'\]"):
        found(**{"/etc/": "etc/"})


def test_up_builds_the_core_and_an_unknown_binary_is_named_with_the_known_ones() -> None:
    core = {"pulumi", "pulumi-language-python", "pulumi-resource-kubernetes", "control-plane", "kwok"}
    assert {recipe.name for recipe in choose(None)} == core
    with pytest.raises(SandboxError, match="kwk") as caught:
        choose(["kwk"])
    assert (caught.value.status, "kwok" in caught.value.remedy) == (2, True)


@pytest.mark.parametrize(
    ("text", "version"),
    [("go1.26.8", (1, 26, 8)), ("v3.259.0\n", (3, 259, 0)), ("etcd Version: 3.6.8", (3, 6, 8)), ("devel", ())],
)
def test_a_version_is_read_from_what_a_program_prints(text: str, version: tuple[int, ...]) -> None:
    assert version_tuple(text) == version


def test_the_cache_key_follows_the_module_the_recipe_and_go_and_nothing_that_changes_no_output(module: Recipe) -> None:
    before = module.cache_key("1.26")
    others = {"minutes": 30, "group": "helm", "roles": {"kwok": recipes.Probe(arguments=("-v",), at_least="1.0")}}
    assert module.model_copy(update=others).cache_key("1.26") == before
    assert module.cache_key("1.27") != before
    assert module.model_copy(update={"link": ("-X a=b",)}).cache_key("1.26") != before
    assert module.model_copy(update={"texts": {"a": "b"}}).cache_key("1.26") != before
    (module.folder / "go.sum").write_text("a\n")
    assert module.cache_key("1.26") != before

    elsewhere = module.folder.parent / "other" / "own.go"
    elsewhere.parent.mkdir()
    elsewhere.write_text("package own")
    completed = recipes.Completed(folder="../other", module="example.org/m", version="v1")
    sharing = module.model_copy(update={"completed": (completed,)})
    before = sharing.cache_key("1.26")
    elsewhere.write_text("package own // changed")
    assert sharing.cache_key("1.26") != before


def test_a_library_has_one_version_in_all_modules_so_that_it_is_compiled_once() -> None:
    """A program keeps the Kubernetes of its release; those with the same one have all of their libraries in common."""
    # these come with the release of each program: Kubernetes' libraries and the one that reads OpenAPI for them, the
    # engine's, and a release candidate whose next one has other names
    bound = ("k8s.io/", "sigs.k8s.io/", "github.com/google/gnostic-models", "github.com/pulumi/", "go.yaml.in/yaml/v4")
    # controllers are built when a stack first needs one, with the Kubernetes of their own releases; the plug-in `sriov`
    # needs libraries of its time, the host for YAML needs newer ones of Git than the Kubernetes plug-in
    own_versions = {"controllers", "node", "languages", "alarms"}
    later = {recipe.module for recipe in recipes.recipes().values() if recipe.group in own_versions}
    versions: dict[tuple[str, str], set[str]] = {}
    for module in recipes.FOLDER.glob("*/go.mod"):
        text = module.read_text()
        used = dict(re.findall(r"^(?:require)?\s*(\S+) (v\S+)", text, re.MULTILINE))
        # Go keeps what it has compiled by the version that is required, next to what replaces it
        for library, version in re.findall(r"^(?:replace)?\s*(\S+) => \S+ (v\S+)", text, re.MULTILINE):
            if used.get(library, version) != version:
                used[library] += f" => {version}"
        for library, version in used.items():
            if module.parent.name not in later and not library.startswith(bound):
                versions.setdefault((library, "of all"), set()).add(version)
            if kubernetes := used.get("k8s.io/api"):
                versions.setdefault((library, f"with k8s.io/api {kubernetes}"), set()).add(version)

    assert len(versions) > 700
    assert {library: found for library, found in versions.items() if len(found) > 1} == {}


def test_a_pulumi_on_path_is_used_when_it_is_recent_and_has_its_language_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    command = _program(tmp_path / "pulumi", "v3.260.1")
    assert build.pulumi_of_the_machine() is None

    _program(tmp_path / "pulumi-language-python", "")
    assert build.pulumi_of_the_machine() == command

    _program(command, "v3.258.9")
    assert build.pulumi_of_the_machine() is None


def test_kubebuilder_assets_stand_in_role_by_role(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    etcd = _program(tmp_path / "etcd", "etcd Version: 3.6.1")
    _program(tmp_path / "kube-apiserver", "Kubernetes v1.30.0")

    monkeypatch.setenv("PATH", "")

    assert build.role_of_the_machine() == {"etcd": etcd}
    toolchain = build.Toolchain({"control-plane": Path("/built")}, build.role_of_the_machine(), None)
    assert toolchain.role("etcd") == [str(etcd)]
    assert toolchain.role("kube-apiserver") == ["/built/control-plane", "kube-apiserver"]


def test_a_kwok_and_a_kubectl_on_path_stand_in_but_no_etcd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    kwok = _program(tmp_path / "kwok", "kwok version v0.8.1 go1.26.3 (linux/amd64)")
    kubectl = _program(tmp_path / "kubectl", "Client Version: v1.36.1\nKustomize Version: v5.8.1")
    _program(tmp_path / "etcd", "etcd Version: 3.6.8")

    assert build.role_of_the_machine() == {"kwok": kwok, "kubectl": kubectl}
    toolchain = build.Toolchain({}, build.role_of_the_machine(), None)
    assert toolchain.role("kwok") == [str(kwok)]

    _program(kwok, "kwok version v0.7.0")
    assert "kwok" not in build.role_of_the_machine()
    assert build.Toolchain({"kwok": tmp_path}, {}, None).role("kwok") == [str(kwok)]


def test_a_machine_with_every_part_of_a_control_plane_builds_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))
    roles = recipes.recipes()["control-plane"].roles
    for role in roles:
        _program(tmp_path / role, "v3.6.8")
    toolchain = build.ensure(["control-plane"], Progress(Console(file=io.StringIO())))
    assert [toolchain.role(role) for role in roles] == [[str(tmp_path / role)] for role in roles]


def test_the_kubectl_that_the_sandbox_writes_never_stands_in_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toolchain = build.Toolchain({"control-plane": tmp_path}, {}, None)
    _program(tmp_path / "control-plane", "Client Version: v1.36.3")
    plane = ControlPlane(SandboxHome(tmp_path / "sandbox"), lambda line: None)
    plane._write_kubectl(toolchain)
    monkeypatch.setenv("PATH", f"{tmp_path / 'sandbox' / 'bin'}:/bin:/usr/bin")
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)

    assert shutil.which("kubectl") == str(tmp_path / "sandbox" / "bin" / "kubectl")
    assert "kubectl" not in build.role_of_the_machine()


def test_what_builds_need_is_downloaded_meanwhile_one_after_the_other_and_no_longer(
    module: Recipe, tmp_path: Path
) -> None:
    later = module.model_copy(update={"tags": ("later",)})
    asked = tmp_path / "asked"
    command = _program(tmp_path / "go", "")
    command.write_text(f'#!/bin/sh\necho "$@" >> {asked}\ncase "$*" in *later*) exec sleep 600; esac\n')
    started = time.monotonic()
    with build._downloaded_meanwhile([module, later, module], golang.Go(command, (1, 26, 8))):
        while not asked.exists() or "later" not in asked.read_text():
            time.sleep(0.01)
    assert time.monotonic() - started < 300
    assert [line.split() for line in asked.read_text().splitlines()] == [module.listing(), later.listing()]
    built = module.arguments(tmp_path, tmp_path / "graph")
    first, folder, *arguments = module.listing()
    assert (first, folder, arguments[:2]) == ("-C", str(module.folder), ["list", "-deps"])
    assert arguments[-1] == built[-1]
    assert arguments[arguments.index("-tags") + 1] == built[built.index("-tags") + 1]


def test_a_binary_that_was_not_built_is_named_with_the_command_that_builds_it() -> None:
    with pytest.raises(SandboxError, match="helm has not been built") as caught:
        build.Toolchain({}, {}, None).folder("helm")

    assert "python -m sandbox build helm" in caught.value.remedy


@pytest.mark.parametrize(
    ("line", "remedy"),
    [
        ("dial tcp 10.0.0.1:443: i/o timeout", "module proxy was not reached"),
        ("write /x: no space left on device", "disk is full"),
        ("go: go.mod requires go >= 1.27 (running go 1.26.8)", "too old"),
        ("verifying module: checksum mismatch", "committed go.sum"),
    ],
)
def test_a_failed_build_says_what_to_do_and_where_its_log_lies(tmp_path: Path, line: str, remedy: str) -> None:
    log = tmp_path / "build.log"
    log.write_text(f"internal/abi\n{line}\n")

    failure = build._failure(recipes.recipes()["kwok"], log, 3.0)

    assert line in failure.message
    assert "internal/abi" not in failure.message
    assert remedy in failure.remedy
    assert str(log) in failure.remedy


def test_progress_away_from_a_terminal_is_plain_lines_with_n_of_m() -> None:
    out = io.StringIO()
    with Progress(Console(file=out, force_terminal=False)).binary("kwok", 2, 5, minutes=2) as counter:
        counter.update(["a", "b"])
    assert out.getvalue().splitlines() == [
        "building kwok (2 of 5), about 2 min when cold …",
        "built kwok (2 of 5) in 0 s",
    ]
    shown: list[str] = []
    Counter(shown.append).update(["go: downloading example.org/a v1.0.0", "internal/abi", "runtime"])
    assert shown == ["1 modules downloaded, 2 packages compiled"]
    assert [duration(seconds) for seconds in (0.4, 59.4, 362)] == ["0 s", "59 s", "6 min 02 s"]
