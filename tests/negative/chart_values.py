"""Values of charts: of another type than the chart's, or such that GPUs, agents or the rails are gone; and secrets."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from negative.base import Base
from negative.mistake import Kind, Mistake, Mistakes, together, written_below

_GPU = "software.gpuOperator.values"
_SPIDERPOOL = "software.spiderpool.values"


def _gpu_operator(below: str, values: dict[str, Any]) -> Mistakes:
    return written_below(_GPU, f".{below}", values, where=lambda base: base.name == "dev")


def _spiderpool(below: str, values: dict[str, Any]) -> Mistakes:
    return written_below(_SPIDERPOOL, f".{below}", values, where=lambda base: base.manager == "spiderpool")


def _unknown_to_its_operator(base: Base) -> Iterator[Mistake]:
    if base.manager == "spiderpool" and base.model == "ib-sriov" and base.provider == "existing":
        yield Mistake({"cluster.pools[0].shape": "server.dgx-b300.8"}, "cluster.pools[0].shape")


def _plain_kubeconfig(base: Base) -> Iterator[Mistake]:
    if base.has("cluster.kubeconfig") and base.provider == "existing":
        named = {"cluster.kubeconfig": None, "cluster.kubeconfigSecret": "access"}
        text = "apiVersion: v1\nkind: Config\nusers: [{name: a, user: {token: abcdefgh}}]\n"
        yield Mistake({**named, "access": text}, "access")


KINDS = (
    Kind(
        "a value has another type than the chart's",
        "REL014",
        together(
            _gpu_operator("driver.enabled", {"driver": {"enabled": "false"}}),
            _gpu_operator("nfd", {"nfd": "no"}),
            _gpu_operator("driver.upgradePolicy.drain", {"driver": {"upgradePolicy": {"drain": True}}}),
        ),
    ),
    Kind(
        "a value takes GPUs from jobs",
        "GPU006",
        together(
            _gpu_operator("devicePlugin.env", {"devicePlugin": {"env": [{"name": "MIG_STRATEGY", "value": "mixed"}]}}),
            _gpu_operator(
                "sandboxWorkloads.defaultWorkload",
                {"sandboxWorkloads": {"enabled": True, "defaultWorkload": "vm-passthrough"}},
            ),
        ),
    ),
    Kind(
        "Spiderpool's agents are kept from the GPU nodes",
        "SPI025",
        _spiderpool("spiderpoolAgent.nodeSelector.role", {"spiderpoolAgent": {"nodeSelector": {"role": "cpu"}}}),
    ),
    Kind(
        "the first interface sends out the fabric's addresses",
        "SPI026",
        _spiderpool("coordinator.hijackCIDR.0", {"coordinator": {"hijackCIDR": ["0.0.0.0/0"]}}),
    ),
    Kind("the operator of virtual functions does not know the NICs", "SPI024", _unknown_to_its_operator),
    Kind("a kubeconfig is in plain text under the key of its secret", "SPC006", _plain_kubeconfig),
)
