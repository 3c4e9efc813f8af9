"""What `make bench` measures can be measured: it runs by hand and in CI only, where a refused stack would end it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpu_fabric.prepare import checked_plan
from gpu_fabric.spec.load import load_stack
from tests.bench.planning import FEW, MANY, MOST, PREFIXES, SHARED, SIZES
from tests.bench.sizes import with_nodes


@pytest.mark.parametrize(
    ("stack", "folder", "nodes"),
    [*((*SHARED, nodes) for nodes in (FEW, MANY, MOST)), *((*PREFIXES, nodes) for nodes in SIZES)],
)
def test_every_size_that_make_bench_plans_is_accepted(stack: str, folder: str, nodes: int, root: Path) -> None:
    plan = checked_plan(with_nodes(load_stack(stack, root / folder), nodes))

    assert sum(pool.nodes for pool in plan.cluster.pools) == nodes
