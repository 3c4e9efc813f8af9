"""Profiles of clouds: every row of every file is read, and says what a plan, a contract and a look at nodes need."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from pydantic import ValidationError

from gpu_fabric.catalog import catalog
from gpu_fabric.catalog.cloud import CloudProfile
from gpu_fabric.catalog.shape import Shape

CLOUDS = tuple(catalog().clouds.values())
MACHINES = [(cloud, shape) for cloud in CLOUDS for shape in cloud.shapes().values()]


@pytest.mark.parametrize("cloud", CLOUDS, ids=lambda cloud: cloud.name)
def test_a_cloud_is_recognised_by_its_nodes_and_says_who_installs_each_software_once(cloud: CloudProfile) -> None:
    row = catalog().distributions[cloud.name]

    assert row.kubelet or row.label or row.system
    parts = {entry.part: entry.has for entry in cloud.software}
    assert len(parts) == len(cloud.software)
    assert {"gpu-driver", "gpu-plugin", "nic-driver"} <= parts.keys()
    assert ("nic-plugin" in parts) == (cloud.plugin is not None)
    assert ("dra-driver" in parts) == (cloud.claims is not None)


@pytest.mark.parametrize(("cloud", "shape"), MACHINES, ids=lambda each: each.name)
def test_a_machine_is_found_by_its_name_and_is_of_one_cloud(cloud: CloudProfile, shape: Shape) -> None:
    found = catalog().find(shape.name)

    assert found == shape
    assert (shape.cloud, shape.rails) == (cloud.name, cloud.machines[shape.name].nics)
    assert shape.name not in catalog().shapes
    assert [one.name for one in CLOUDS if shape.name in one.machines] == [cloud.name]
    assert shape.nic_model is not None
    assert shape.gpus.model is not None


@pytest.mark.parametrize(("cloud", "shape"), MACHINES, ids=lambda each: each.name)
def test_a_pod_of_a_node_requests_all_nics_or_what_stands_for_them(cloud: CloudProfile, shape: Shape) -> None:
    if cloud.plugin is None:
        return
    requested = cloud.plugin.requested(shape.rails, shape.gpus.count)

    wanted = {
        "nics": Counter(cloud.plugin.resources(shape.rails)),
        "gpus": {cloud.plugin.resource: shape.gpus.count},
        "one": {cloud.plugin.resource: 1},
        "none": {},
    }
    assert requested == wanted[cloud.plugin.count]


def test_variables_of_clouds_have_values_that_they_take_and_are_either_set_or_left_to_the_job() -> None:
    variables = catalog().variables
    for cloud in CLOUDS:
        names = [row.variable for row in cloud.settings]
        assert len(set(names)) == len(names)
        assert not set(names) & {row.name for row in cloud.job_variables}
        for row in cloud.settings:
            known = variables.get(row.variable)
            assert known is None or known.takes(row.value), row.variable
            assert row.variable not in catalog().nccl_foreign


def test_what_a_setting_is_about_is_a_source_and_no_address_of_a_host() -> None:
    # A page is named by its title, a file by its repository with the commit.
    sources = [cloud.source for cloud in CLOUDS] + [shape.source for _, shape in MACHINES]

    assert [source for source in sources if re.match(r"https?://", source)] == []


BAD = {
    "pods that get no NICs": ({"plugin": None, "claims": None}, "pods get no NICs"),
    "an interface without a model of interfaces": ({"ip": "cloud"}, "an interface in the pod"),
    "values of charts without a reason": ({"chartsWhy": ""}, "values of charts need their reason"),
    "labels without a source": ({"topologySource": ""}, "need their source"),
    "a request on a machine that does not exist": (
        {"requests": [{"resource": "cpu", "amount": "1", "machines": ["p9"], "why": "-", "source": "-"}]},
        "no such machine: p9",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_file_that_contradicts_itself_is_refused(name: str) -> None:
    changes, said = BAD[name]
    written = catalog().clouds["eks"].model_dump(mode="json", by_alias=True)

    with pytest.raises(ValidationError, match=re.escape(said)):
        CloudProfile.model_validate({**written, **changes})
