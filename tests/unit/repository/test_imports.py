"""Imports point one way: nccl_topology <- gpu_fabric <- components <- stacks <- __main__; none needs a cloud's SDK."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import metadata
from importlib.util import resolve_name
from pathlib import Path

import pytest

HOUSE = {"nccl_topology", "gpu_fabric", "components", "stacks", "sandbox", "policy", "tests", "__main__"}

# What each package may import of the house.
ALLOWED = {
    "nccl_topology": set[str](),
    "gpu_fabric": {"nccl_topology"},
    "components": {"gpu_fabric"},
    "stacks": {"gpu_fabric", "components"},
    "sandbox": {"gpu_fabric"},
    "policy": {"gpu_fabric"},
}


def modules(root: Path, package: str) -> list[Path]:
    return sorted((root / package).rglob("*.py"))


def statements(source: str) -> tuple[ast.Import | ast.ImportFrom, ...]:
    """What a module imports, anywhere in it."""
    return tuple(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Import | ast.ImportFrom))


@cache
def statements_of(path: Path) -> tuple[ast.Import | ast.ImportFrom, ...]:
    return statements(path.read_text(encoding="utf-8"))


def imports(path: Path) -> tuple[str, ...]:
    return tuple(imported(statements_of(path), package_of(path)))


def imported(nodes: Iterable[ast.Import | ast.ImportFrom], package: str) -> Iterator[str]:
    """Full names of what a module of a package imports."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            yield origin(node, package)


def origin(node: ast.ImportFrom, package: str) -> str:
    return resolve_name("." * node.level + (node.module or ""), package)


def package_of(path: Path) -> str:
    folder = path.parent
    return f"{package_of(folder)}.{folder.name}".lstrip(".") if (folder / "__init__.py").exists() else ""


def top(name: str) -> str:
    return name.partition(".")[0]


def offences(root: Path, package: str, forbidden: set[str]) -> list[str]:
    return [
        f"{path.relative_to(root)} imports {name}"
        for path in modules(root, package)
        for name in imports(path)
        if top(name) in forbidden
    ]


@cache
def import_graph(root: Path) -> dict[str, frozenset[str]]:
    """What each file of the house imports of it, anywhere in it; with the packages that an import runs on its way."""
    files = {module_name(root, path): path for package in ALLOWED for path in modules(root, package)}
    return {name: frozenset(imported_files(name, path, set(files))) for name, path in files.items()}


def module_name(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_files(name: str, path: Path, files: set[str]) -> Iterator[str]:
    for node in statements_of(path):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            targets = [f"{origin(node, package_of(path))}.{alias.name}" for alias in node.names]
        for target in targets:
            # Of `a.b.c` the file is `a.b` where c is a name in it.
            found = target if target in files else target.rpartition(".")[0]
            if found in files and found != name:
                yield found
            # The packages above both run before either.
            yield from (above for above in packages(found) if above in files and not f"{name}.".startswith(f"{above}."))


def packages(name: str) -> Iterator[str]:
    while name := name.rpartition(".")[0]:
        yield name


@cache
def reached(root: Path, name: str) -> frozenset[str]:
    graph, found, waiting = import_graph(root), set[str](), [name]
    while waiting:
        new = graph[waiting.pop()] - found
        found |= new
        waiting += new
    return frozenset(found)


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_those_before_it(root: Path, package: str) -> None:
    assert offences(root, package, HOUSE - ALLOWED[package] - {package}) == []


def test_the_core_imports_no_engine_no_sdk_and_no_cluster_client(root: Path) -> None:
    assert modules(root, "gpu_fabric")
    forbidden = {"pulumi", "pulumi_kubernetes", "pulumi_digitalocean", "pulumi_oci", "kubernetes"}

    assert offences(root, "gpu_fabric", forbidden) == []


@pytest.mark.parametrize("module", ["socket", "random", "urllib.request", "http", "secrets"])
def test_the_core_has_no_randomness_and_no_network_but_that_of_images_in_registries(root: Path, module: str) -> None:
    asking = "gpu_fabric/cli/registry.py"
    assert set(importers(root, module)) <= {asking}
    assert importers(root, asking.removesuffix(".py").replace("/", ".")) == ["gpu_fabric/cli/image_check.py"]


def test_the_core_runs_no_program_but_those_of_a_user_and_only_for_commands(root: Path) -> None:
    names = ("kubectl", "mcp", "programs", "pulumi_command")
    running = {f"gpu_fabric/cli/{name}.py" for name in names}
    assert set(importers(root, "subprocess")) == running
    asking = {name.removesuffix(".py").replace("/", ".") for name in running}
    users = [path for path in modules(root, "gpu_fabric") if asking & set(imports(path))]
    assert {path.parent for path in users} <= {root / "gpu_fabric/cli"}


def in_pods(root: Path) -> set[str]:
    """Programs that run on nodes and in pods: the plan reads their text and never imports them."""
    folder = root / "gpu_fabric/on_nodes"
    return {str(path.relative_to(root)) for path in folder.rglob("*.py") if path.name != "__init__.py"}


def importers(root: Path, module: str) -> list[str]:
    return [
        str(path.relative_to(root))
        for path in modules(root, "gpu_fabric")
        if str(path.relative_to(root)) not in in_pods(root)
        if any(f"{name}.".startswith(f"{module}.") for name in imports(path))
    ]


def test_the_core_reads_published_dates_and_never_asks_for_todays(root: Path) -> None:
    asked = [
        f"{path.relative_to(root)} line {node.lineno}"
        for path in modules(root, "gpu_fabric")
        # Of commands alone; see below.
        if path.name != "clock.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today", "fromtimestamp"))
        or (isinstance(node, ast.ImportFrom) and node.module == "datetime" and [n.name for n in node.names] != ["date"])
        or (isinstance(node, ast.Import) and "datetime" in [n.name for n in node.names])
    ]

    assert asked == []


def test_commands_alone_know_what_day_it_is_and_wait(root: Path) -> None:
    assert importers(root, "time") == ["gpu_fabric/base/clock.py"]
    asking = {path for path in modules(root, "gpu_fabric") if "gpu_fabric.base.clock" in imports(path)}

    assert root / "gpu_fabric/cli/diff.py" in asking
    assert {path.parent for path in asking} == {root / "gpu_fabric/cli"}


def test_what_runs_in_pods_is_imported_by_nothing_and_needs_python_alone(root: Path) -> None:
    names = {path.removesuffix(".py").replace("/", ".") for path in in_pods(root)}
    users = {name for name, used in import_graph(root).items() if names & used}
    needed = {top(name) for path in in_pods(root) for name in imports(root / path)}

    assert names
    assert users == set()
    assert needed <= set(sys.stdlib_module_names)


def test_what_the_program_imports_is_installed_without_the_requirements_of_the_tests(root: Path) -> None:
    files = [root / "requirements.txt", root / "policy/requirements.txt"]
    extras = {"mcp"}
    installed = with_dependencies(re.findall(r"^([\w-]+)==", "".join(file.read_text() for file in files), re.MULTILINE))
    providers = metadata.packages_distributions()
    # What makes a wheel runs where the builder is installed.
    files_of_program = [path for package in ALLOWED for path in modules(root, package) if path.name != "hatch_build.py"]
    others = {top(name) for path in files_of_program for name in imports(path)} - HOUSE - extras
    # Python's own since 3.14.
    others -= {*sys.stdlib_module_names, "compression"}

    assert "psutil" in others
    assert [name for name in others if installed.isdisjoint(map(plain, providers[name]))] == []


def with_dependencies(distributions: Iterable[str]) -> set[str]:
    """Plain names of distributions and of all that they need, extras apart."""
    found, waiting = set[str](), [plain(name) for name in distributions]
    while waiting:
        name = waiting.pop()
        # Those for other systems and other versions of Python are not installed.
        if name not in found and any(metadata.distributions(name=name)):
            found.add(name)
            waiting += [plain(entry) for entry in metadata.requires(name) or () if "extra ==" not in entry]
    return found


def plain(requirement: str) -> str:
    """The name that a requirement begins with, as pip compares names."""
    return re.sub(r"[._-]+", "-", re.split(r"[^\w.-]", requirement, maxsplit=1)[0]).lower()


@pytest.mark.parametrize(
    ("part", "homes"),
    [
        ("gpu_fabric.resources.charts", ["components/engine/registration.py"]),
        ("gpu_fabric.resources.objects", ["components/engine/steps.py"]),
        # The SDK's classes of kinds, which would be a second way.
        ("pulumi_kubernetes.", []),
    ],
)
def test_charts_and_objects_reach_the_engine_through_one_house_helper_each(
    root: Path, part: str, homes: list[str]
) -> None:
    everywhere = [path for package in ("components", "stacks") for path in modules(root, package)]
    users = [str(path.relative_to(root)) for path in everywhere if any(name.startswith(part) for name in imports(path))]

    assert users == homes


def test_the_policies_take_the_base_of_models_and_nothing_else_so_that_other_programs_can_use_them(root: Path) -> None:
    taken = {name for path in modules(root, "policy") for name in imports(path) if top(name) == "gpu_fabric"}

    assert taken == {"gpu_fabric.model"}
    assert offences(root, "policy", {"pulumi", "pulumi_kubernetes", "pulumi_oci", "kubernetes"}) == []


def test_the_linter_of_topology_files_needs_python_alone(root: Path) -> None:
    parts = [path for path in modules(root, "nccl_topology") if path.name != "hatch_build.py"]
    needed = {top(name) for path in parts for name in imports(path)} - {"nccl_topology"}

    assert len(parts) > 10
    assert needed <= set(sys.stdlib_module_names)


@pytest.mark.parametrize("package", ["components", "nccl_topology", "policy", "sandbox", "stacks"])
def test_what_a_wheel_has_by_another_name_imports_its_own_modules_relatively(root: Path, package: str) -> None:
    by_name = {
        str(path.relative_to(root))
        for path in modules(root, package)
        for node in statements_of(path)
        if not getattr(node, "level", 0) and package in map(top, imported([node], ""))
    }

    # What an editable installation has for the wheel's name.
    assert by_name - {"sandbox/checkout.py"} == set()


def test_the_program_imports_components_only_in_the_form_that_the_builder_of_the_wheel_changes(root: Path) -> None:
    taken = [
        node
        for path in modules(root, "stacks")
        for node in statements_of(path)
        if "components" in map(top, imported([node], "stacks"))
    ]

    assert len(taken) > 10
    assert [ast.unparse(node) for node in taken if not isinstance(node, ast.ImportFrom)] == []


NAMES_OF_THE_WHEEL = """
import gpu_fabric.components.kept_objects, gpu_fabric.program.guard
import components.kept_objects, stacks.guard
assert gpu_fabric.components is components and gpu_fabric.program is stacks
assert gpu_fabric.components.kept_objects is components.kept_objects and gpu_fabric.program.guard is stacks.guard
for module in components, components.kept_objects, stacks, stacks.guard:
    assert module.__spec__.name == module.__name__, module.__spec__
from importlib.util import find_spec
assert find_spec("gpu_fabric.components.nothing") is find_spec("gpu_fabric.stacks") is None
print(gpu_fabric.components.kept_objects.KeptObjectsProvider.__module__)
"""


def test_the_names_of_the_wheel_are_the_checkouts_own_modules_and_states_record_the_same_place(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", NAMES_OF_THE_WHEEL], cwd=tmp_path, capture_output=True, text=True
    )

    assert done.returncode == 0, f"after a change of editable/, `make setup` installs it again:\n{done.stderr}"
    assert done.stdout == "components.kept_objects\n"


@pytest.mark.parametrize("package", ALLOWED)
def test_no_files_import_each_other_in_a_circle(root: Path, package: str) -> None:
    assert [name for name in import_graph(root) if top(name) == package and name in reached(root, name)] == []


def test_a_run_attaches_to_objects_and_loads_nothing_that_edits_manifests_as_text(root: Path) -> None:
    loaded = reached(root, "stacks.program") | reached(root, "components.rdma.attach")

    assert "gpu_fabric.attach.attachment" in loaded
    assert [name for name in loaded if name.startswith("gpu_fabric.attach.text")] == []


def test_a_run_reaches_nothing_that_commands_alone_print_judge_or_read(root: Path) -> None:
    loaded = reached(root, "stacks.program")
    of_commands = (
        *("gpu_fabric.cli", "gpu_fabric.discover", "gpu_fabric.new_stack", "nccl_topology.cli"),
        *("gpu_fabric.changes.diff_markdown", "gpu_fabric.changes.guard_section", "gpu_fabric.render.rendering"),
        *("gpu_fabric.live.account", "gpu_fabric.live.drift_and_damages"),
    )

    assert {"gpu_fabric.changes.guard", "gpu_fabric.live.judging", "gpu_fabric.render.resources"} <= loaded
    assert {*of_commands} <= import_graph(root).keys()
    assert [name for name in loaded if f"{name}.".startswith(tuple(f"{one}." for one in of_commands))] == []
    # Rendered plans, which a run compares, have figures.
    assert {name for name in loaded if name.startswith("gpu_fabric.report.")} == {"gpu_fabric.report.figure"}


# Folders of the core, those first that stand below; a tuple's members do not import each other in a circle of files.
LAYERS = (
    ("base", "on_nodes"),
    ("catalog", "findings", "k8s", "symptoms"),
    ("spec",),
    ("contract", "nccl"),
    ("attach", "discover"),
    ("workloads",),
    ("plan",),
    ("rules", "resources"),
    ("report", "image"),
    ("render",),
    ("changes",),
    ("new_stack", "live"),
    ("cli",),
)


@pytest.mark.parametrize("folder", [folder for layer in LAYERS for folder in layer])
def test_a_folder_of_the_core_stands_on_those_below_it_alone_also_by_way_of_loose_modules(
    root: Path, folder: str
) -> None:
    layer = next(number for number, layer in enumerate(LAYERS) if folder in layer)
    below = {name for layer in LAYERS[: layer + 1] for name in layer}
    folders = {path.name for path in (root / "gpu_fabric").iterdir() if (path / "__init__.py").exists()}
    assert folders == {name for layer in LAYERS for name in layer}

    found = {
        f"{name} reaches {other}"
        for name in import_graph(root)
        if name.startswith(f"gpu_fabric.{folder}.") or name == f"gpu_fabric.{folder}"
        for other in reached(root, name)
        if top(other) == "gpu_fabric" and other.split(".")[1:2] != [] and other.split(".")[1] in folders - below
    }

    assert found == set()
