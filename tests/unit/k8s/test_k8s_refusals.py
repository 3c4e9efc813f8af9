"""Each promise of `refused.yaml`: what a cluster would fail on is refused before."""

import json
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import BaseModel, ValidationError

from gpu_fabric.k8s.base import ObjectMeta
from gpu_fabric.k8s.nv_ipam import IPPool, IPPoolSpec

PROMISES: dict[str, dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("refused.yaml").read_text())


def changed(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """What a promise's rows have in common with a row's changes, whose keys may lead inside: `spec/containers/0`."""
    found = deepcopy(base)
    for place, value in changes.items():
        *above, last = place.split("/")
        inner: Any = found
        for word in above:
            inner = inner[int(word) if isinstance(inner, list) else word]
        inner[last] = value
    return found


ROWS = [
    pytest.param(
        *(model or [promise["model"]]), changed(promise.get("base", {}), changes), pattern, id=f"{name} [{number}]"
    )
    for name, promise in PROMISES.items()
    for number, (*model, changes, pattern) in enumerate(promise["refused"])
]


def read(model: str, written: dict[str, Any]) -> BaseModel:
    """An object of the model of that name, as YAML has it."""
    module, _, name = model.partition(".")
    kind: type[BaseModel] = getattr(import_module(f"gpu_fabric.k8s.{module}"), name)
    return kind.model_validate(written)


@pytest.mark.parametrize(("model", "written", "pattern"), ROWS)
def test_what_would_fail_in_a_cluster_is_refused_before(model: str, written: dict[str, Any], pattern: str) -> None:
    with pytest.raises(ValidationError, match=pattern):
        read(model, written)


@pytest.mark.parametrize("name", [name for name, promise in PROMISES.items() if "base" in promise])
def test_what_the_rows_of_a_promise_have_in_common_is_taken_and_written_as_it_is(name: str) -> None:
    base = PROMISES[name]["base"]
    taken: Any = read(PROMISES[name]["model"], base)
    written = taken.manifest() if hasattr(taken, "manifest") else taken.to_dict()

    assert {key: written.get(key) for key in base} == base


def test_a_name_is_taken_up_to_the_most_letters_that_the_operator_has_room_for() -> None:
    (policy,) = (row["base"] for row in PROMISES.values() if row.get("model") == "mellanox.NicNodePolicySpec")

    assert read("mellanox.NicNodePolicy", {"metadata": {"name": "p" * 30}, "spec": policy})
    with pytest.raises(ValidationError, match="31 characters: allowed are at most"):
        read("mellanox.NicNodePolicy", {"metadata": {"name": "p" * 31}, "spec": policy})
    with pytest.raises(ValidationError, match="is not an object name: allowed are"):
        read("base.ObjectMeta", {"name": "r" * 254})


def test_a_manifest_has_camel_case_names_and_the_usual_key_order() -> None:
    pool = IPPool(
        metadata=ObjectMeta(name="rail-00", namespace="nvidia-network-operator", labels={"b": "2", "a": "1"}),
        spec=IPPoolSpec(subnet="10.200.0.0/24", per_node_block_size=4, gateway="10.200.0.1"),
    )
    assert json.dumps(pool.manifest()) == (
        '{"apiVersion": "nv-ipam.nvidia.com/v1alpha1", "kind": "IPPool", '
        '"metadata": {"name": "rail-00", "namespace": "nvidia-network-operator", "labels": {"a": "1", "b": "2"}}, '
        '"spec": {"subnet": "10.200.0.0/24", "perNodeBlockSize": 4, "gateway": "10.200.0.1"}}'
    )
