"""The stand-in charts against the real ones: their values, and what real definitions say to what they render."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pytest
import yaml
from chart_values import values_of_file
from rendered_charts import TYPICAL, Helm, Values
from structural_schema import refusals
from test_upstream_values import other_defaults, unknown_keys
from upstream_definitions import definitions_in

from sandbox.crds import CHARTS

UPSTREAM_VALUES = {
    "26.4/gpu-operator": "gpu-operator-26.3.3",
    "26.4/network-operator": "network-operator-26.4.1",
    "26.4/network-operator/charts/sriov-network-operator": "sriov-network-operator-in-26.4.1",
    "26.4/spiderpool": "spiderpool-1.2.2",
    "26.4/volcano": "volcano-1.15.1",
    "26.4/kueue": "kueue-0.19.2",
    "26.4/jobset": "jobset-0.12.0",
    "26.4/lws": "lws-0.8.0",
    "26.4/dra-driver-nvidia-gpu": "dra-driver-nvidia-gpu-0.4.1",
    "26.7/gpu-operator": "gpu-operator-26.7.0",
    # The release itself is in the vendor's repository only.
    "26.7/network-operator": "network-operator-26.7.0-rc.2",
    "26.7/network-operator/charts/sriov-network-operator": "sriov-network-operator-in-26.7.0-rc.2",
    "26.1/gpu-operator": "gpu-operator-25.10.1",
    "26.1/network-operator": "network-operator-26.1.2",
    "26.1/network-operator/charts/sriov-network-operator": "sriov-network-operator-in-26.1.2",
    **{
        f"{line}/{chart}": real
        for line in ("26.7", "26.1")
        for chart, real in {
            "spiderpool": "spiderpool-1.2.2",
            "volcano": "volcano-1.15.1",
            "kueue": "kueue-0.19.2",
            "jobset": "jobset-0.12.0",
            "lws": "lws-0.8.0",
            "dra-driver-nvidia-gpu": "dra-driver-nvidia-gpu-0.4.1",
        }.items()
    },
    "23.10/gpu-operator": "gpu-operator-23.9.1",
    # The public sources of this chart end at its last candidate; the release is in the vendor's repository only.
    "23.10/network-operator": "network-operator-23.10.0-rc.5",
    "23.10/volcano": "volcano-1.15.1",
}
# Of a kind that two folders have, the last one counts.
_LINE = (
    "gpu-operator-26.3.3",
    "nfd-in-gpu-operator-26.3.3",
    "network-operator-26.4.1",
    "sriov-network-operator-in-26.4.1",
)
_NEWEST = (
    "gpu-operator-26.7.0",
    "nfd-in-gpu-operator-26.3.3",
    "network-operator-26.7.0-rc.2",
    "sriov-network-operator-in-26.7.0-rc.2",
)
_OLDER = (
    "gpu-operator-25.10.1",
    "nfd-in-gpu-operator-26.3.3",
    "network-operator-26.1.2",
    "sriov-network-operator-in-26.1.2",
)
UPSTREAM_CRDS = {
    "26.7/gpu-operator": _NEWEST,
    "26.7/network-operator": _NEWEST,
    "26.1/gpu-operator": _OLDER,
    "26.1/network-operator": _OLDER,
    "26.4/gpu-operator": _LINE,
    "26.4/network-operator": _LINE,
    "26.4/spiderpool": (*_LINE, "spiderpool-1.2.2"),
    "23.10/gpu-operator": ("gpu-operator-23.9.1", "network-operator-23.10.0-rc.5"),
    "23.10/network-operator": ("gpu-operator-23.9.1", "network-operator-23.10.0-rc.5"),
}
# The sources of a candidate or a release name staging registries and branches, where the published charts do not.
UNPUBLISHED = ("nvcr.io/nvstaging/mellanox", "k8s-staging-images", "upstream 'main'", "upstream 'release-0.19'")


@pytest.fixture(scope="module")
def helm() -> Helm:
    return Helm()


@pytest.mark.parametrize(("chart", "real"), UPSTREAM_VALUES.items())
def test_a_stand_in_has_only_values_of_the_real_chart_with_its_defaults(chart: str, real: str) -> None:
    ours = yaml.safe_load((CHARTS / chart / "values.yaml").read_text())
    theirs = values_of_file(real)
    assert list(unknown_keys(ours, theirs)) == []
    other = [entry for entry in other_defaults(ours, theirs) if not any(word in entry for word in UNPUBLISHED)]
    assert other == []


@pytest.mark.engine
@pytest.mark.parametrize(("chart", "values"), [entry for entry in TYPICAL if entry[0] in UPSTREAM_CRDS])
def test_the_vendors_definitions_accept_what_a_stand_in_renders(helm: Helm, chart: str, values: Values) -> None:
    known = schemas(UPSTREAM_CRDS[chart])
    custom = [
        (entry, known[group, entry["kind"]])
        for entry in helm.objects(chart, values)
        if (group := entry["apiVersion"].rpartition("/")[0], entry["kind"]) in known
    ]
    assert [refusals(entry, schema) for entry, schema in custom] == [[] for _ in custom]


def schemas(folders: Iterable[str]) -> dict[tuple[str, str], Mapping[str, Any]]:
    """The vendors' schemas of some folders, by group and kind."""
    specs = (spec for folder in folders for _, spec in definitions_in(folder))
    return {(spec["group"], spec["names"]["kind"]): spec["versions"][0]["schema"]["openAPIV3Schema"] for spec in specs}
