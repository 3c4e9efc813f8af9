"""Bad configuration in a run of the program: everything at once, without a traceback, before any resource."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pytest
from programs import ROOT, STACKS, as_engine_config, stack_config
from recording import record

pytestmark = pytest.mark.components

OKE = ROOT / "Pulumi.oke-h100.yaml"


def refused(config: dict[str, Any]) -> tuple[str, int]:
    """The message of the run, and how many resources were registered before it ended."""
    from stacks.configuration import program_plan
    from stacks.gpu_cluster import gpu_cluster

    reached: list[str] = []

    def program() -> None:
        plan = program_plan(ROOT)
        reached.append("resources")
        gpu_cluster(plan, ROOT)

    with pytest.raises(pulumi.RunError) as refusal:
        record(program, stack="dev", config=as_engine_config(config))
    return str(refusal.value), len(reached)


def _unknown_key(config: dict[str, Any]) -> None:
    config["gpu-fabric:fabric"]["modell"] = "sriov"


def _unknown_section(config: dict[str, Any]) -> None:
    config["gpu-fabric:fabrik"] = {}


def _wrong_type(config: dict[str, Any]) -> None:
    config["gpu-fabric:cluster"]["pools"][0]["nodes"] = "three"


def _unknown_shape(config: dict[str, Any]) -> None:
    config["gpu-fabric:cluster"]["pools"][0]["shape"] = "BM.GPU.H100.80"


def _zero_nodes(config: dict[str, Any]) -> None:
    config["gpu-fabric:cluster"]["pools"][0]["nodes"] = 0


def _no_kubeconfig(config: dict[str, Any]) -> None:
    config["gpu-fabric:cluster"]["kubeconfig"] = "nowhere/kubeconfig"


def _supernet_too_small(config: dict[str, Any]) -> None:
    config["gpu-fabric:fabric"]["addressing"]["supernet"] = "192.168.0.0/26"


def _too_deep(config: dict[str, Any]) -> None:
    value: Any = 1
    for _ in range(300):
        value = {"a": value}
    config["gpu-fabric:software"]["networkOperator"] = {"values": value}


def _key_without_value(config: dict[str, Any]) -> None:
    config["gpu-fabric:software"]["schedulers"] = {"kueue": None}


CASES: list[tuple[Callable[[dict[str, Any]], None], str, str]] = [
    (_unknown_key, "gpu-fabric:fabric.modell: this key is not known", "did you mean 'model'?"),
    (_unknown_section, "gpu-fabric:fabrik: this key is not known", "did you mean 'fabric'?"),
    (_wrong_type, "gpu-fabric:cluster.pools[0].nodes: must be a whole number", "number of GPU nodes"),
    (_unknown_shape, "gpu-fabric:cluster.pools[0].shape: no shape", "did you mean 'BM.GPU.H100.8'?"),
    (_zero_nodes, "gpu-fabric:cluster.pools[0].nodes: must be", "number of GPU nodes"),
    (_key_without_value, "gpu-fabric:software.schedulers.kueue: this key has no value", "write {} for the defaults"),
    (_no_kubeconfig, "gpu-fabric:cluster.kubeconfig: nowhere/kubeconfig: no such file", "write its real path"),
    (_too_deep, "stack: holds lists and mappings that are nested in each other more than 30 deep", "write it flatter"),
    (_supernet_too_small, "gpu-fabric:fabric.addressing.supernet: 3 nodes x 1 address", "use a supernet of /"),
]


@pytest.mark.parametrize(("spoil", "problem", "remedy"), CASES, ids=[case[0].__name__[1:] for case in CASES])
def test_a_bad_value_stops_the_run_with_its_path_and_remedy_before_any_resource(
    kubeconfig: Path, spoil: Callable[[dict[str, Any]], None], problem: str, remedy: str
) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    spoil(config)
    message, reached = refused(config)
    assert problem in message
    assert remedy in message
    assert "Pulumi.dev.yaml" in message
    assert reached == 0


def test_all_bad_values_are_named_in_one_message(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    for spoil in (_unknown_key, _unknown_section, _no_kubeconfig, _supernet_too_small):
        spoil(config)
    message, _ = refused(config)
    assert message.startswith("Pulumi.dev.yaml: 4 problems, nothing was created.")


def _on_oke_by_spiderpool(config: dict[str, Any]) -> None:
    config["gpu-fabric:cluster"] = stack_config(OKE, Path())["gpu-fabric:cluster"]
    config["gpu-fabric:fabric"] |= {"manager": "spiderpool"}


def test_a_stack_that_can_only_be_planned_is_refused_before_any_resource(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    _on_oke_by_spiderpool(config)
    message, reached = refused(config)
    assert message.startswith("Pulumi.dev.yaml: 1 problem, nothing was created.")
    assert "this version cannot create it yet [SUP007]" in message
    assert "sriov by network-operator on existing or oke" in message
    assert reached == 0


def test_a_missing_section_is_named(kubeconfig: Path) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    del config["gpu-fabric:cluster"]
    message, reached = refused(config)
    assert "gpu-fabric:cluster: this key is required" in message
    assert reached == 0
