"""Imports point one way: fabric <- components <- stacks <- __main__; a cloud's SDK stays in that cloud's component."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

HOUSE = {"fabric", "components", "stacks", "sandbox", "policy", "tests", "__main__"}

# What each package may import of the house.
ALLOWED = {
    "fabric": set[str](),
    "components": {"fabric"},
    "stacks": {"fabric", "components"},
    "sandbox": {"fabric"},
    "policy": {"fabric"},
}


def modules(root: Path, package: str) -> list[Path]:
    return sorted((root / package).rglob("*.py"))


@cache
def imports(path: Path) -> tuple[str, ...]:
    return tuple(imported(path.read_text(encoding="utf-8")))


def imported(source: str) -> Iterator[str]:
    """Full names of what a module imports, anywhere in it; a relative import keeps its dots."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def is_relative(name: str) -> bool:
    return name.startswith(".")


def top(name: str) -> str:
    return name.partition(".")[0]


def offences(root: Path, package: str, forbidden: set[str]) -> list[str]:
    return [
        f"{path.relative_to(root)} imports {name}"
        for path in modules(root, package)
        for name in imports(path)
        if top(name) in forbidden
    ]


@pytest.mark.parametrize("package", ALLOWED)
def test_a_package_imports_only_those_before_it(root: Path, package: str) -> None:
    assert offences(root, package, HOUSE - ALLOWED[package] - {package}) == []


def test_the_core_imports_no_engine_no_sdk_and_no_cluster_client(root: Path) -> None:
    assert modules(root, "fabric")
    forbidden = {"pulumi", "pulumi_kubernetes", "pulumi_digitalocean", "pulumi_oci", "kubernetes"}

    assert offences(root, "fabric", forbidden) == []


@pytest.mark.parametrize("module", ["socket", "random", "time", "subprocess", "urllib", "http", "secrets"])
def test_the_core_has_no_clock_no_network_and_no_randomness(root: Path, module: str) -> None:
    assert offences(root, "fabric", {module}) == []


def test_the_core_reads_published_dates_and_never_asks_for_todays(root: Path) -> None:
    asked = [
        f"{path.relative_to(root)} line {node.lineno}"
        for path in modules(root, "fabric")
        # Of commands alone; see below.
        if path.name != "clock.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and node.attr in ("now", "utcnow", "today", "fromtimestamp"))
        or (isinstance(node, ast.ImportFrom) and node.module == "datetime" and [n.name for n in node.names] != ["date"])
        or (isinstance(node, ast.Import) and "datetime" in [n.name for n in node.names])
    ]

    assert asked == []


def test_commands_alone_know_what_day_it_is(root: Path) -> None:
    asking = {path.name for path in modules(root, "fabric") if "fabric.clock" in imports(path)}

    assert "cli_diff.py" in asking
    assert all(name.startswith("cli_") for name in asking)


@pytest.mark.parametrize(("sdk", "cloud"), [("pulumi_digitalocean", "doks"), ("pulumi_oci", "oke")])
def test_a_clouds_sdk_is_imported_by_that_clouds_component_alone(root: Path, sdk: str, cloud: str) -> None:
    found = [entry for package in ALLOWED for entry in offences(root, package, {sdk})]

    assert [entry for entry in found if not entry.startswith(f"components/cluster/{cloud}")] == []


@pytest.mark.parametrize(
    ("part", "homes"),
    [
        ("fabric.resources.charts", ["components/helm.py"]),
        ("fabric.resources.objects", ["components/resources.py"]),
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
    taken = {name for path in modules(root, "policy") for name in imports(path) if top(name) == "fabric"}

    assert taken == {"fabric.model"}
    assert offences(root, "policy", {"pulumi", "pulumi_kubernetes", "pulumi_oci", "kubernetes"}) == []


def test_relative_imports_are_not_used_so_that_the_check_above_sees_all(root: Path) -> None:
    relative = [path for package in ALLOWED for path in modules(root, package) if any(map(is_relative, imports(path)))]

    assert relative == []


def test_the_check_sees_an_import_inside_a_function() -> None:
    assert list(imported("def f():\n    import pulumi.runtime\n    from stacks.outputs import x\nfrom . import y")) == [
        ".",
        "pulumi.runtime",
        "stacks.outputs",
    ]
