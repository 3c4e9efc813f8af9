"""What attach added goes out again, by its stamp alone: nothing of the user's, and nothing of the fabric stays."""

import json
from typing import Any

import pytest
import yaml
from attached_pods import EXPECTED, MANIFESTS, NETWORKS, Pod, contract_of, documents_of, pods_in, text_of
from each_case import each
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_attach_properties import pods

from gpu_fabric.attach.attachment import AttachOptions, attach, detach
from gpu_fabric.attach.place import AttachError, deep_copy
from gpu_fabric.attach.stamp import STAMP
from gpu_fabric.attach.text.manifests import attach_text, detach_text
from gpu_fabric.attach.text.yaml_documents import read_yaml
from gpu_fabric.attach.text.yaml_text import rewrite
from gpu_fabric.contract import FabricContract

NAMES = sorted(path.name for path in MANIFESTS.iterdir() if path.suffix in {".yaml", ".json"})
STACKS = ["dev", "host-network", "doks-h200", "examples/spiderpool-ib", "dranet"]
STAMPED = AttachOptions(stamped=True)
NOT_OPENED = {"deployment.yaml", "several-documents.yaml", "trainjob.yaml", "pytorchjob.yaml"}


def attached(name: str, stack: str, wishes: AttachOptions = STAMPED) -> str:
    """A manifest with the fabric; where a stack refuses it there is nothing to take out."""
    try:
        result: str = attach_text(text_of(name), contract_of(stack), wishes).text
    except AttachError:
        return str(text_of(name))
    return result


def shrunk(rails: int = 8) -> FabricContract:
    """The contract of the development stack with fewer rails, and without one of its variables."""
    found = json.loads(contract_of("dev").model_dump_json(by_alias=True, exclude_none=True))
    gone = {f"nvidia.com/rail_{rail:02d}" for rail in range(rails, 16)}
    found["networks"] = found["networks"][:rails]
    found["annotations"][NETWORKS] = json.dumps(json.loads(found["annotations"][NETWORKS])[:rails])
    found["environment"].pop("NCCL_IB_TC")
    found["nodeSelector"] = {}
    for part in (found["resources"], *_resources_of(found["podTemplatePatch"])):
        for name in gone & set(part):
            del part[name]
    found["podTemplatePatch"]["spec"].pop("nodeSelector", None)
    return FabricContract.model_validate(found)


def _resources_of(patch: Any) -> list[Any]:
    resources = patch["spec"]["containers"][0]["resources"]
    return [resources["limits"], resources["requests"]]


@each("stack", STACKS)
@each("name", NAMES)
def test_what_was_attached_is_taken_out_again(name: str, stack: str) -> None:
    once = attached(name, stack)
    result = detach_text(once)

    assert documents_of(result) == documents_of(text_of(name))
    # Brackets that were opened for what was added stay open.
    if "{" not in text_of(name) or (name in NOT_OPENED and stack == "dev"):
        assert result == text_of(name)
    if once != text_of(name):
        assert attach_text(once, contract_of(stack), STAMPED).text == once


@each("name", NAMES)
def test_after_the_stack_shrank_a_manifest_is_as_if_attached_to_what_there_is(name: str) -> None:
    again = attach_text(attached(name, "dev"), shrunk())
    fresh = attach_text(text_of(name), shrunk(), STAMPED).text

    assert documents_of(again.text) == documents_of(fresh)
    assert "rail_15" not in again.text.replace(text_of(name), "")
    assert {note.id for note in again.notes} >= {"ATT070"}
    assert attach_text(again.text, shrunk(), STAMPED).text == again.text


def test_another_model_takes_the_place_of_the_first() -> None:
    for first in STACKS:
        for second in STACKS:
            text = attach_text(text_of("mpijob.yaml"), contract_of(first), STAMPED).text
            again = attach_text(text, contract_of(second)).text
            assert in_order(documents_of(again)) == in_order(documents_of(attached("mpijob.yaml", second)))


def in_order(value: Any) -> Any:
    """Lists sorted: what both models have stays where it was."""
    if isinstance(value, dict):
        return {key: in_order(inner) for key, inner in value.items()}
    return sorted(map(in_order, value), key=json.dumps) if isinstance(value, list) else value


def edited() -> str:
    """An attached job that a user went on with."""
    text = attached("pod.yaml", "dev")
    (document,) = documents_of(text)
    container = document["spec"]["containers"][0]
    container["env"].insert(0, {"name": "OWN", "value": "1"})
    next(entry for entry in container["env"] if entry["name"] == "NCCL_IB_TC")["value"] = "106"
    container["volumeMounts"].append({"name": "data", "mountPath": "/data"})
    document["spec"]["volumes"].insert(0, {"name": "data", "emptyDir": {}})
    document["spec"]["tolerations"].append({"key": "mine", "operator": "Exists"})
    annotations = document["metadata"]["annotations"]
    networks = json.loads(annotations[NETWORKS])
    annotations[NETWORKS] = json.dumps([*networks, {"name": "nfs", "interface": "nfs0"}])
    annotations["note"] = "mine"
    return yaml.safe_dump(document, sort_keys=False)


@pytest.mark.parametrize("how", ["detached", "attached to less"])
def test_what_the_user_wrote_since_stays(how: str) -> None:
    result = detach_text(edited()) if how == "detached" else attach_text(edited(), shrunk()).text
    pod = Pod(documents_of(result)[0], EXPECTED["pod.yaml"].attached[""])

    assert {"OWN": "1", "NCCL_IB_TC": "106"}.items() <= pod.environment.items()
    assert pod.mounted("/data") == {"name": "data", "emptyDir": {}}
    assert {"key": "mine", "operator": "Exists"} in pod.spec["tolerations"]
    assert pod.annotations["note"] == "mine"
    assert "nfs@nfs0" in pod.networks()
    if how == "detached":
        assert (pod.networks(), set(pod.annotations)) == (["nfs@nfs0"], {NETWORKS, "note"})
        assert set(pod.environment) == {"OWN", "NCCL_IB_TC"}
    else:
        assert len(pod.networks()) == 9
        assert "nvidia.com/rail_08" not in pod.limits


def test_the_queue_of_the_first_time_stays_without_a_word() -> None:
    once = attached("jobset.yaml", "dev", AttachOptions(queue="team-a", stamped=True))
    again = attach_text(once, shrunk()).text

    assert "kueue.x-k8s.io/queue-name: team-a" in again
    assert "cpu: 100m" in again
    assert documents_of(detach_text(again)) == documents_of(text_of("jobset.yaml"))


def test_a_container_that_was_named_once_need_not_be_named_again() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "main"}]}}
    once = attach([pod], contract_of("dev"), AttachOptions(("main",), stamped=True)).documents

    assert attach(once, contract_of("dev"), STAMPED).documents == once
    assert detach(once) == (pod,)


def test_without_a_wish_there_is_no_stamp_and_one_that_is_there_is_kept_up() -> None:
    assert STAMP not in attach_text(text_of("job.yaml"), contract_of("dev")).text
    assert all(STAMP in pod.annotations for pod in pods_in(attached("mpijob.yaml", "dev"), "mpijob.yaml"))


def test_any_pod_is_afterwards_what_it_was() -> None:
    contract = contract_of("dev")

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(pods(), st.sampled_from([True, False]), st.sampled_from([2, 4]))
    def holds(pod: dict[str, Any], flow: bool, indent: int) -> None:
        wishes = AttachOptions(("main",), stamped=True)
        try:
            once = attach([pod], contract, wishes).documents
        except AttachError:
            return
        assert detach(once) == (pod,)
        text = yaml.safe_dump(pod, default_flow_style=flow, indent=indent, allow_unicode=True)
        assert yaml.safe_load(detach_text(attach_text(text, contract, wishes).text)) == pod

    holds()


values = st.recursive(
    st.sampled_from([1, "a", "two\nlines\n", "", True, None, "it's"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abcd"), inner, max_size=3),
    max_leaves=12,
)


def test_text_in_block_style_loses_any_part_and_keeps_the_rest() -> None:
    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.dictionaries(st.sampled_from("abcd"), values, min_size=1, max_size=4), st.data())
    def holds(content: dict[str, Any], data: st.DataObject) -> None:
        text = yaml.safe_dump(content, default_flow_style=data.draw(st.sampled_from([False, None])))
        less = deep_copy(content)
        for _ in range(data.draw(st.integers(1, 3))):
            _lose(less, data)
        assert yaml.safe_load(rewrite(text, read_yaml(text), [less])) == less

    holds()


def _lose(content: Any, data: st.DataObject) -> None:
    while content:
        key = data.draw(st.sampled_from(sorted(content) if isinstance(content, dict) else range(len(content))))
        if not isinstance(content[key], dict | list) or not content[key] or data.draw(st.booleans()):
            del content[key]
            return
        content = content[key]
