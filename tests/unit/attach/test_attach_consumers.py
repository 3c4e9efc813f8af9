"""Workloads in the forms of SkyPilot, Slinky, Dynamo, llm-d and KServe: attached as a row says by hand, or answered."""

import json
from collections import Counter
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS, Pod, at, contract_of, documents_of
from rows import rows

from gpu_fabric.attach.place import AttachError
from gpu_fabric.attach.text.manifests import AttachedText, attach_text
from gpu_fabric.contract.consumer import Consumer, form_of

FABRICS, WORKLOADS = rows(__file__, "fabrics"), rows(__file__, "workloads")
ATTACHED = {name: row for name, row in WORKLOADS.items() if "attached" in row}
REFUSED = {name: row for name, row in WORKLOADS.items() if "refused" in row}


def text_of(row: dict[str, Any]) -> str:
    """The documents of a row as a file, without anchors."""
    return yaml.safe_dump_all(json.loads(json.dumps(row["of"])), sort_keys=False)


def attached(row: dict[str, Any]) -> AttachedText:
    return attach_text(text_of(row), contract_of(row.get("stack", "verification")))


def pods_of(row: dict[str, Any], documents: list[Any]) -> list[Pod]:
    found = [(documents[number - 1], *pod) for number, pods in row["attached"].items() for pod in pods.items()]
    return [Pod(at(document, path), container) for document, path, container in found]


@pytest.mark.parametrize("name", ATTACHED)
def test_each_pod_that_serves_gets_its_devices_networks_and_variables(name: str) -> None:
    row = WORKLOADS[name]
    stack, keeps = row.get("stack", "verification"), row.get("keeps", {})
    fabric = FABRICS[stack]
    of_libraries = [fabric["libraries"].get(library, {}) for library in row.get("libraries", ())]
    own = {key: value for key, value in keeps.items() if key.isupper()}
    variables = {key: value for one in (fabric["environment"], *of_libraries) for key, value in one.items()} | own
    limits = fabric["limits"] | {key: value for key, value in keeps.items() if "/" in key}
    networks = {*fabric["networks"], *([keeps["network"]] if "network" in keeps else ())}

    pods = pods_of(row, documents_of(attached(row).text))

    assert pods
    for pod in pods:
        assert {key: int(value) for key, value in pod.limits.items() if "/" in key} == limits
        assert set(pod.networks() if NETWORKS in pod.annotations else ()) == networks
        assert pod.environment.items() >= variables.items()
        # Without a sign of UCX a pod has none of its variables.
        by_ucx = [{key for key in names if key.startswith("UCX_")} for names in (pod.environment, variables)]
        assert bool(by_ucx[0]) == bool(by_ucx[1])


@pytest.mark.parametrize("name", ATTACHED)
def test_everything_else_stays_and_what_is_to_be_known_is_said(name: str) -> None:
    row = WORKLOADS[name]
    result = attached(row)

    said = Counter(note.id for note in result.notes)
    assert said.pop("ATT063") == sum(map(len, row["attached"].values()))
    assert sorted(said) == row.get("notes", [])
    before, after = documents_of(text_of(row)), documents_of(result.text)
    for number, pair in enumerate(zip(before, after, strict=True), start=1):
        for document in pair:
            for path in row["attached"].get(number, {}):
                _remove(document, path)
        assert pair[0] == pair[1]


def _remove(document: Any, path: str) -> None:
    """Take a pod template out of a document, in all of its places."""
    for part in path.split("+"):
        outside, _, spec = part.partition("/")
        holder = at(document, outside)
        for key in (spec, "annotations") if spec else tuple(holder):
            if isinstance(holder, dict):
                holder.pop(key, None)
    if document["kind"] == "Deployment":
        document["spec"].pop("strategy", None)


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_have_the_fabric_is_refused_with_what_to_do(name: str) -> None:
    row = WORKLOADS[name]
    with pytest.raises(AttachError) as raised:
        attached(row)

    found = [(problem.id, problem.place) for problem in raised.value.problems]
    assert found == [(rule, place) for rule, places in row["refused"].items() for place in places]
    assert row.get("remedy", "") in raised.value.explanation("file")


def test_there_are_workloads_of_each_system_whose_form_is_printed() -> None:
    titles = {form_of(consumer).title.partition(",")[0] for consumer in Consumer}
    count = Counter(name.partition(",")[0] for name in WORKLOADS)

    assert count.keys() == titles
    assert min(count.values()) >= 8
    assert sum(count.values()) >= 40
