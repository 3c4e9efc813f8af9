"""What a user set already stays; what is refused, and what is said, is in test_attach_rules."""

import json
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS, Pod, contract_of

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.attach.text.manifests import attach_text
from gpu_fabric.contract import FabricContract
from gpu_fabric.findings import Finding
from gpu_fabric.plan import Plan

# What is said of whatever gets the fabric.
ADDED = "ATT063"
DEV = contract_of("dev")
ALL = [f"rail-{rail:02d}@net{rail + 1}" for rail in range(16)]


def pod(container: dict[str, Any] | None = None, networks: str | None = None, **spec: Any) -> Any:
    """A pod whose one container asks for all GPUs, with what a test adds."""
    asked = {"resources": {"limits": {"nvidia.com/gpu": 8}}} | (container or {})
    annotations = {} if networks is None else {"annotations": {NETWORKS: networks}}
    containers = [{"name": "main", "image": "registry.example/train:7", **asked}]
    metadata = {"name": "one", **annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def attached(document: Any, contract: FabricContract = DEV) -> tuple[Pod, list[Finding]]:
    before = json.dumps(document)
    result = attach([document], contract)
    assert json.dumps(document) == before
    assert attach(result.documents, contract).documents == result.documents
    return Pod(result.documents[0], "main"), [note for note in result.notes if note.id != ADDED]


@pytest.mark.parametrize(
    ("resources", "gpus"), [({"limits": {"nvidia.com/gpu": 4}}, 4), ({"requests": {"nvidia.com/gpu": "8"}}, "8")]
)
def test_the_users_number_of_gpus_is_limit_and_request(resources: dict[str, Any], gpus: Any) -> None:
    result, _ = attached(pod({"resources": resources}))

    assert result.limits["nvidia.com/gpu"] == result.requests["nvidia.com/gpu"] == gpus


def test_a_variable_from_elsewhere_is_there_once() -> None:
    entry = {"name": "NCCL_IB_TC", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}
    result, _ = attached(pod({"env": [entry]}))

    assert [other for other in result.container["env"] if other["name"] == "NCCL_IB_TC"] == [entry]


def test_a_volume_of_the_users_own_that_has_the_fabrics_name_is_left_alone() -> None:
    volume = {"name": "shared-memory", "persistentVolumeClaim": {"claimName": "notes"}}
    result, _ = attached(pod({"volumeMounts": [{"name": "shared-memory", "mountPath": "/notes"}]}, volumes=[volume]))

    assert result.mounted("/notes") == volume
    assert "emptyDir" in result.mounted("/dev/shm")


def test_an_older_file_of_the_fabric_gives_way_to_the_new_one() -> None:
    first = attach([pod()], DEV).documents[0]
    older = json.loads(json.dumps(first).replace(DEV.files[0].config_map, "nccl-settings-bm-gpu-h100-8-00000000"))
    _, notes = attached(older)

    assert "gives way to" in notes[0].message
    assert attach([older], DEV).documents[0] == first


@pytest.mark.parametrize(("more", "number"), [({}, 1), ({"effect": "NoExecute", "tolerationSeconds": 60}, 2)])
def test_a_toleration_that_covers_the_fabrics_is_enough_unless_it_is_for_a_while(
    more: dict[str, Any], number: int
) -> None:
    own = {"key": "nvidia.com/gpu", "operator": "Exists", **more}
    result, _ = attached(pod(tolerations=[own]))

    assert result.spec["tolerations"][0] == own
    assert len(result.spec["tolerations"]) == number


def test_dropping_all_capabilities_goes_with_adding_one() -> None:
    dropping = {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}}
    result, _ = attached(pod({"securityContext": dropping}))

    wanted = {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"], "add": ["IPC_LOCK"]}}
    assert result.container["securityContext"] == wanted


OWN = {"name": "nfs", "interface": "nfs0", "mac": "02:00:00:00:00:01", "ips": ["10.9.0.7/24"]}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # In their form, first, and without an interface of the fabric's; what was written by hand is not there twice.
        ("stores/nfs@nfs0", ["stores/nfs@nfs0", *ALL]),
        ("nfs", [*ALL, "nfs"]),
        (",".join(one.partition("@")[0] for one in ALL), ALL),
        (json.dumps([OWN]), [OWN, *ALL]),
    ],
)
def test_networks_of_the_users_own_stay_as_they_are_written(before: str, after: list[Any]) -> None:
    result, _ = attached(pod(networks=before))
    value = result.annotations[NETWORKS]

    if before.startswith("["):
        assert json.loads(value)[0] == after[0]
        assert result.networks()[1:] == after[1:]
    else:
        assert value == ", ".join(after)


def test_a_network_without_an_interface_is_said_to_have_moved_once() -> None:
    result, notes = attached(pod(networks="nfs"))

    assert "its interface is net17 now" in notes[0].message
    again = pod(networks=result.annotations[NETWORKS])
    assert attached(again)[1] == []


def test_one_network_for_all_rails_is_attached_once_for_each(flat_plan: Plan) -> None:
    result, _ = attached(pod(networks="default/rdma-fabric, rdma-fabric"), flat_plan.workload)
    names = result.annotations[NETWORKS].split(", ")

    assert names[:2] == ["default/rdma-fabric@net1", "rdma-fabric@net2"]
    assert sorted(entry.partition("@")[2] for entry in names) == sorted(f"net{k}" for k in range(1, 17))


def test_a_topology_file_where_the_fabric_has_none_is_pointed_out() -> None:
    environment = {key: value for key, value in DEV.environment.items() if key != "NCCL_TOPO_FILE"}
    given = pod({"env": [{"name": "NCCL_TOPO_FILE", "value": "/topo.xml"}]})
    _, notes = attached(given, DEV.model_copy(update={"environment": environment}))

    assert [note.message.partition(";")[0] for note in notes] == ["NCCL_TOPO_FILE is not the fabric's"]


@pytest.mark.parametrize("as_json", [True, False])
@pytest.mark.parametrize("empty", [None, {}])
@pytest.mark.parametrize("key", ["metadata", "securityContext", "capabilities"])
def test_an_empty_mapping_that_gets_nothing_stays_as_it_is_written(key: str, empty: Any, *, as_json: bool) -> None:
    known = contract_of("host-network")
    patch: Any = json.loads(json.dumps(known.pod_template_patch))
    patch["spec"]["containers"][0]["securityContext"] = {"capabilities": {"add": []}}
    bare = {"capabilities": (), "privileged": False, "annotations": {}, "pod_template_patch": patch}
    known = known.model_copy(update=bare)
    container: dict[str, Any] = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    template: dict[str, Any] = {"spec": {"containers": [container]}}
    if key == "metadata":
        template[key] = empty
    else:
        container["securityContext"] = empty if key == "securityContext" else {key: empty}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "one"}, "spec": {"template": template}}
    text = attach_text(json.dumps(job) if as_json else yaml.safe_dump(job, sort_keys=False), known).text
    after = yaml.safe_load(text)["spec"]["template"]

    assert after.get("metadata", 0) == template.get("metadata", 0)
    assert after["spec"]["containers"][0].get("securityContext", 0) == container.get("securityContext", 0)
    assert attach_text(text, known, AttachOptions()).text == text
