"""The stand-in charts: the versions that the release line pins, and Stages that KWOK cannot be late for."""

from collections import Counter
from typing import Any

import pytest
import yaml

from fabric.catalog import catalog
from sandbox.crds import CHARTS

NAMES = ("gpu-operator", "network-operator")
# Kinds that the sandbox itself plays: KWOK knows them before any chart comes.
PLAYED_FROM_THE_START = {("v1", "Pod"), ("v1", "Node"), ("kwok.x-k8s.io/v1alpha1", "Stage")}


def stages(chart: str) -> list[dict[str, Any]]:
    files = sorted((CHARTS / chart / "stages").glob("*.yaml"))
    return [document for path in files for document in yaml.safe_load_all(path.read_text())]


@pytest.mark.parametrize("name", NAMES)
def test_a_stand_in_has_the_version_that_the_release_line_pins(name: str) -> None:
    chart = yaml.safe_load((CHARTS / name / "Chart.yaml").read_text())
    pinned = {line.charts[key].version for line in catalog().releases.values() for key in line.charts if key == name}
    assert chart["version"] in pinned


@pytest.mark.parametrize("name", NAMES)
def test_a_stage_is_the_only_one_of_its_kind(name: str) -> None:
    kinds = [(ref["apiGroup"], ref["kind"]) for ref in (stage["spec"]["resourceRef"] for stage in stages(name))]
    # KWOK meets objects that exist already only with the first Stage of their kind
    assert kinds
    assert not set(kinds) & PLAYED_FROM_THE_START
    assert max(Counter(kinds).values()) == 1
