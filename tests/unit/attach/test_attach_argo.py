"""Argo Workflows: which of their templates get the fabric, and that each pod keeps what it had of the workflow."""

from typing import Any

import pytest
from attached_pods import NETWORKS, contract_of

from gpu_fabric.attach.attachment import AttachOptions, attach, detach
from gpu_fabric.attach.stamp import STAMP

GPUS = {"resources": {"limits": {"nvidia.com/gpu": 8}}}
DEV = contract_of("dev")
KINDS = {"Workflow": False, "WorkflowTemplate": False, "ClusterWorkflowTemplate": False, "CronWorkflow": True}


def workflow(*templates: dict[str, Any], kind: str = "Workflow", **spec: Any) -> dict[str, Any]:
    own = {"entrypoint": "main", "templates": list(templates), **spec}
    found = {"schedule": "0 2 * * *", "workflowSpec": own} if KINDS[kind] else own
    return {"apiVersion": "argoproj.io/v1alpha1", "kind": kind, "metadata": {"name": "w"}, "spec": found}


def step(name: str = "train", **fields: Any) -> dict[str, Any]:
    return {"name": name, "container": {"image": "a", **GPUS}, **fields}


def spec_of(document: Any) -> Any:
    return document["spec"].get("workflowSpec", document["spec"])


def attached(*templates: dict[str, Any], wishes: AttachOptions | None = None, **spec: Any) -> list[Any]:
    """The templates of a workflow afterwards."""
    (result,) = attach([workflow(*templates, **spec)], DEV, wishes or AttachOptions()).documents
    found: list[Any] = spec_of(result)["templates"]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_template_that_asks_for_gpus_gets_the_fabric_and_no_other(kind: str) -> None:
    flow = {"name": "main", "steps": [[{"name": "a", "template": "prepare"}], [{"name": "b", "template": "train"}]]}
    before = workflow(flow, {"name": "prepare", "container": {"image": "a"}}, step(), kind=kind)
    result, notes = attach([before], DEV, AttachOptions(stamped=True))
    first, prepare, train = spec_of(result[0])["templates"]

    assert [first, prepare] == spec_of(before)["templates"][:2]
    assert {NETWORKS, STAMP} <= set(train["metadata"]["annotations"])
    assert train["container"]["resources"]["limits"]["nvidia.com/rail_15"] == "1"
    assert {volume["name"] for volume in train["volumes"]} == {m["name"] for m in train["container"]["volumeMounts"]}
    assert train["nodeSelector"] == DEV.node_selector
    assert "hostNetwork" not in train
    assert {note.id for note in notes} == {"ATT055", "ATT063"}
    assert detach(result) == (before,)
    assert attach(result, DEV, AttachOptions(stamped=True)).documents == result


@pytest.mark.parametrize(
    ("template", "container"),
    [
        ({"script": {"image": "a", "command": ["bash"], "source": "torchrun a.py", **GPUS}}, "script"),
        ({"containerSet": {"containers": [{"name": "a"}, {"name": "main", **GPUS}]}}, "containerSet"),
        ({"container": {"image": "a"}, "sidecars": [{"name": "engine", **GPUS}]}, "sidecars"),
    ],
)
def test_each_form_of_a_pod_gets_the_fabric_in_the_container_that_asks(
    template: dict[str, Any], container: str
) -> None:
    (result,) = attached({"name": "train", **template})
    holders = {
        "script": result.get("script"),
        "containerSet": result.get("containerSet", {}).get("containers", [{}])[-1],
        "sidecars": result.get("sidecars", [{}])[0],
    }

    assert "nvidia.com/rail_00" in holders[container]["resources"]["limits"]
    assert {entry["name"] for entry in holders[container]["env"]} >= DEV.environment.keys()
    assert "env" not in result.get("container", {})


@pytest.mark.parametrize("outer", ["steps", "dag"])
def test_a_template_that_is_written_in_a_step_gets_the_fabric(outer: str) -> None:
    task = {"name": "train", "inline": step("")}
    (result,) = attached({"name": "main", outer: [[task]] if outer == "steps" else {"tasks": [task]}})

    assert str(result).count(f"'{NETWORKS}'") == 1


EXISTS, BATCH = {"operator": "Exists"}, {"key": "batch", "operator": "Exists"}


@pytest.mark.parametrize(
    ("own", "outer", "selector", "tolerations"),
    [
        # What counted of the workflow counts beside what a template gets; what a template has of its own replaces it.
        ({}, {"nodeSelector": {"zone": "a"}, "tolerations": [BATCH]}, {"zone": "a"}, ["batch", "nvidia.com/gpu"]),
        (
            {"nodeSelector": {"zone": "b"}, "tolerations": [EXISTS]},
            {"nodeSelector": {"zone": "a"}, "tolerations": [BATCH]},
            {"zone": "b"},
            [None],
        ),
        # Those of the workflow that cover the fabric's stay there.
        ({}, {"tolerations": [EXISTS]}, {}, None),
    ],
)
def test_nodes_and_tolerations_of_workflow_and_template_count_as_argo_counts_them(
    own: dict[str, Any], outer: dict[str, Any], selector: dict[str, str], tolerations: list[str | None] | None
) -> None:
    (result,) = attached(step(**own), **outer)

    assert result["nodeSelector"] == {**selector, **DEV.node_selector}
    found = result.get("tolerations")
    assert (found and [entry.get("key") for entry in found]) == tolerations


@pytest.mark.parametrize("wish", ["main", "train", "train/main"])
def test_a_container_without_a_name_is_called_main(wish: str) -> None:
    (result,) = attached({"name": "train", "container": {"image": "a"}}, wishes=AttachOptions((wish,)))

    assert result["container"]["resources"]["limits"]["nvidia.com/gpu"] == "8"


@pytest.mark.parametrize("nothing", [None, {}])
@pytest.mark.parametrize("own", [None, {}])
def test_a_workflow_whose_node_selector_is_empty_stays_as_it_is(nothing: Any, own: Any) -> None:
    before = workflow(step(nodeSelector=own), nodeSelector=nothing)
    once = attach([before], DEV, AttachOptions(stamped=True)).documents
    (result,) = once

    assert result["spec"]["nodeSelector"] == nothing
    assert result["spec"]["templates"][0]["nodeSelector"] == DEV.node_selector
    assert attach(once, DEV, AttachOptions(stamped=True)).documents == once
    assert detach(once) == (before,)


def test_volumes_of_the_workflow_are_left_alone() -> None:
    mounts = [{"name": "shared-memory", "mountPath": "/data"}]
    container = {"image": "a", "volumeMounts": mounts, **GPUS}
    for own in (
        {"volumes": [{"name": "shared-memory", "emptyDir": {}}]},
        {"volumeClaimTemplates": [{"metadata": {"name": "shared-memory"}}]},
    ):
        (result,) = attached({"name": "train", "container": container}, **own)
        by_path = {mount["mountPath"]: mount["name"] for mount in result["container"]["volumeMounts"]}

        assert by_path["/data"] == "shared-memory"
        assert by_path["/dev/shm"] == "fabric-shared-memory"
        assert "shared-memory" not in {volume["name"] for volume in result["volumes"]}


def test_what_a_set_of_containers_mounts_is_not_mounted_twice() -> None:
    memory = {"name": "own", "mountPath": "/dev/shm"}
    template = {"containerSet": {"volumeMounts": [memory], "containers": [{"name": "main", **GPUS}]}}
    (result,) = attached({"name": "train", "volumes": [{"name": "own", "emptyDir": {}}], **template})
    (container,) = result["containerSet"]["containers"]

    assert "/dev/shm" not in {mount["mountPath"] for mount in container["volumeMounts"]}


def test_a_queue_is_that_of_each_pod() -> None:
    prepare = {"name": "prepare", "container": {"image": "a"}}
    first, train = attached(prepare, step(), wishes=AttachOptions(queue="team-a"))

    assert train["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "team-a"}
    assert first == prepare
