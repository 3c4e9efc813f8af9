"""Pods on clouds: what `attach` writes is what the cloud's own page asks for, field by field.

A row has the pod of the page, the fields of it that a job decides itself, and what `attach` adds, each with its reason.
"""

from typing import Any

import pytest
from attached_pods import EXPECTED, as_template, at, contract_of, documents_of, text_of
from rows import rows

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.attach.text.manifests import attach_text
from gpu_fabric.catalog import catalog

PODS = rows(__file__, "pods")
BARE = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "job"},
    "spec": {"containers": [{"name": "main", "image": "registry.example/job:1"}]},
}
Json = Any


def facts(pod: Json) -> dict[str, Json]:
    """What a pod has of all that a cloud's page can ask for; amounts as text, and annotations as data."""
    spec, (container,) = pod["spec"], pod["spec"]["containers"]
    volumes = {entry["name"]: entry for entry in spec.get("volumes", [])}
    resources = container.get("resources", {})
    mounts = {mount["mountPath"]: volumes[mount["name"]] for mount in container.get("volumeMounts", [])}
    security = container.get("securityContext", {})
    return {
        "annotations": pod["metadata"].get("annotations", {}),
        "selector": spec.get("nodeSelector", {}),
        "limits": {name: str(amount) for name, amount in resources.get("limits", {}).items()},
        "requests": {name: str(amount) for name, amount in resources.get("requests", {}).items()},
        "claims": sorted(entry["resourceClaimTemplateName"] for entry in spec.get("resourceClaims", [])),
        "folders": {path: volume["hostPath"]["path"] for path, volume in mounts.items() if "hostPath" in volume},
        "memory": sorted(path for path, volume in mounts.items() if "emptyDir" in volume),
        "files": sorted(path for path, volume in mounts.items() if "configMap" in volume),
        "variables": {entry["name"]: entry["value"] for entry in container.get("env", [])},
        "capabilities": security.get("capabilities", {}).get("add", []),
        "privileged": security.get("privileged", False),
        "hostNetwork": spec.get("hostNetwork", False),
    }


@pytest.mark.parametrize("name", PODS)
def test_a_pod_by_the_clouds_page_is_what_attach_makes_and_each_difference_is_named(name: str) -> None:
    row = PODS[name]
    contract = contract_of(row["stack"])

    (made,) = attach([BARE], contract, AttachOptions(containers=("main",))).documents

    of_page = {**facts(BARE), **row["page"]}
    for field, values in row.get("added", {}).items():
        before = of_page[field]
        of_page[field] = {**before, **values} if isinstance(before, dict) else sorted({*before, *values})
    assert facts(made) == of_page


@pytest.mark.parametrize("name", PODS)
def test_what_the_page_sets_beyond_is_among_the_variables_that_the_profile_leaves_to_the_job(name: str) -> None:
    row = PODS[name]
    (cloud,) = (one for one in catalog().clouds.values() if one.name == row["cloud"])

    left = {entry.name: entry.value for entry in cloud.job_variables}
    assert row.get("job", {}) == left


def test_a_job_keeps_its_own_memory_and_its_own_variables() -> None:
    resources = {"limits": {"memory": "1Ti"}, "requests": {"memory": "1Ti"}}
    own = {"name": "main", "image": "a", "resources": resources, "env": [{"name": "NCCL_BUFFSIZE", "value": "4194304"}]}
    (made,) = attach(
        [{**BARE, "spec": {"containers": [own]}}], contract_of("eks-efa"), AttachOptions(containers=("main",))
    ).documents

    found = facts(made)
    assert (found["limits"]["memory"], found["requests"]["memory"]) == ("1Ti", "1Ti")
    assert found["variables"]["NCCL_BUFFSIZE"] == "4194304"


@pytest.mark.parametrize("stack", ["eks-efa", "gke-rdma"])
def test_every_kind_of_workload_gets_what_the_profile_asks_for(stack: str) -> None:
    contract = contract_of(stack)
    wanted = facts(attach([BARE], contract, AttachOptions(containers=("main",))).documents[0])
    for name in sorted(EXPECTED):
        document = documents_of(attach_text(text_of(name), contract, AttachOptions(stamped=True)).text)[
            EXPECTED[name].document
        ]
        for path, container in EXPECTED[name].attached.items():
            template = as_template(at(document, path))
            spec = template["spec"]
            own = next(entry for entry in spec["containers"] if entry["name"] == container)
            resources = own["resources"]
            assert {**resources["limits"], **wanted["limits"]}.keys() == resources["limits"].keys(), name
            volumes = {entry["name"]: entry.get("hostPath", {}).get("path") for entry in spec["volumes"]}
            mounted = {mount["mountPath"]: volumes.get(mount["name"]) for mount in own["volumeMounts"]}
            assert wanted["folders"].items() <= mounted.items(), name
            annotations = template.get("metadata", {}).get("annotations") or {}
            assert wanted["annotations"].items() <= annotations.items(), name
