"""One browser for the whole tier; without one the tier is skipped, and says so."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from committed_stacks import folder_of
from diff_edits import TODAY
from diff_edits import plan_of as rendered_plan
from headless_chromium import Chromium
from tier_skips import skip_once

from gpu_fabric.changes.change_page import change_page
from gpu_fabric.changes.guard import judge_plans
from gpu_fabric.changes.plan_diff import plan_diff
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import plan_spec
from gpu_fabric.report.html import html_report
from gpu_fabric.spec.load import load_stack
from gpu_fabric.spec.stack import StackSpec
from tests.bench.chromium import NAMES, found_browser

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    skip_once(items, _HERE, _lacking, "browser")


def _lacking() -> str:
    named = ", ".join(NAMES)
    return "" if found_browser() else f"no Chromium: none of {named} is on the path, and CHROMIUM names none"


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    """A Chromium without a window."""
    program = found_browser()
    assert program is not None, "without a Chromium the tests that need one are skipped"
    with Chromium(program, tmp_path_factory.mktemp("profile")) as started:
        yield started


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The report of a stack as a file: of so many nodes, if a number is given."""
    folder, plans = tmp_path_factory.mktemp("reports"), dict[tuple[str, int | None], Path]()

    def written(stack: str, nodes: int | None = None) -> Path:
        if (stack, nodes) not in plans:
            file = plans[stack, nodes] = folder / f"{stack}-{nodes}.html"
            file.write_text(html_report(_planned(stack, nodes)), encoding="utf-8")
        return plans[stack, nodes]

    return written


@pytest.fixture(scope="session")
def change(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The page on a change of a stack as a file: what is written in its stack file after the change."""
    folder = tmp_path_factory.mktemp("changes")

    def written(stack: str, **after: Any) -> Path:
        base, head = rendered_plan(stack, {}), rendered_plan(stack, after)
        diff = plan_diff(base, head)
        file = folder / f"{stack}-{len([*folder.iterdir()])}.html"
        file.write_text(change_page(diff, base, head, judge_plans(diff, base, head, TODAY)), encoding="utf-8")
        return file

    return written


def _planned(stack: str, nodes: int | None) -> Plan:
    spec = load_stack(stack, folder_of(stack))
    return plan_spec(spec if nodes is None else _sized(spec, nodes))


def _sized(spec: StackSpec, nodes: int) -> StackSpec:
    pool = spec.cluster.pools[0].model_copy(update={"nodes": nodes})
    return spec.model_copy(update={"cluster": spec.cluster.model_copy(update={"pools": (pool,)})})
