"""The plan as a whole: deterministic, free of errors, and no larger for more nodes."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from gpu_fabric.findings import ConfigurationError, Severity
from gpu_fabric.plan import Plan
from gpu_fabric.prepare import plan_spec
from gpu_fabric.report.pages.schemas import json_lines
from gpu_fabric.spec.stack import StackSpec

PlanWith = Callable[[Any], Plan]
SpecWith = Callable[[Any], StackSpec]
POOL = {"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 3}


class Lines(SingleFileSnapshotExtension):
    """JSON with an object a line, so that a reviewed difference shows which has changed."""

    file_extension = "json"
    _write_mode = WriteMode.TEXT


def test_the_development_plan_is_the_reviewed_one(dev_plan: Plan, snapshot: SnapshotAssertion) -> None:
    document = dev_plan.model_dump(mode="json", by_alias=True)
    for file in document["nccl"]["files"]:
        file["content"] = f"{len(file['content'])} characters"
    (files,) = (step["items"] for step in document["steps"] if step["name"] == "nccl")
    for planned in files:
        planned["object"]["data"] = sorted(planned["object"]["data"])

    text = json_lines(json.loads(json.dumps(document, sort_keys=True)), 400) + "\n"
    assert text == snapshot(extension_class=Lines)


@given(nodes=st.integers(1, 4094), layout=st.sampled_from(["flat", "per-rail"]))
@settings(max_examples=15, deadline=None)
def test_the_number_of_objects_does_not_depend_on_the_number_of_nodes(
    plan_with: PlanWith, nodes: int, layout: str
) -> None:
    changes = {"fabric.addressing.layout": layout, "fabric.addressing.supernet": "172.16.0.0/12"}
    few, many = plan_with(changes), plan_with({**changes, "cluster.pools[0].nodes": nodes})

    assert [entry.object.manifest() for entry in few.objects] == [entry.object.manifest() for entry in many.objects]


@pytest.mark.parametrize(
    ("changes", "rules"),
    [
        ({"fabric.addressing.supernet": "10.0.0.0/8"}, ["ADR002", "ADR002", "ADR002"]),
        ({"fabric.addressing.exclude": ["192.168.0.0/30"], "fabric.addressing.addressesPerNode": 2}, ["ADR009"]),
        ({"cluster.pools": [POOL, {**POOL, "name": "old", "shape": "BM.GPU4.8"}]}, ["CLU002"]),
        ({"fabric.mtu": 9000, "fabric.addressing.supernet": "192.168.0.0/26"}, ["ADR001", "NET001"]),
    ],
)
def test_an_error_never_leaves_in_a_plan(spec_with: SpecWith, changes: dict[str, Any], rules: list[str]) -> None:
    with pytest.raises(ConfigurationError) as refused:
        plan_spec(spec_with(changes))

    assert [entry.id for entry in refused.value.findings] == rules
    assert refused.value.file == "Pulumi.dev.yaml"


def test_a_plan_keeps_what_is_no_error(dev_plan: Plan, flat_plan: Plan, plan_with: PlanWith) -> None:
    assert [entry.id for entry in dev_plan.findings] == ["NET003", "OKE049", "REL017", "REL018"]
    assert [entry.id for entry in flat_plan.findings] == ["DEV001", "NET003", "OKE049", "REL017", "REL018"]
    unstated = plan_with({"cluster.ranges": {}})
    assert [entry.id for entry in unstated.findings] == ["ADR003", "NET003", "OKE049", "REL017", "REL018"]
    assert not any(entry.severity is Severity.ERROR for entry in unstated.findings)
