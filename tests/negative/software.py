"""Software that comes twice or not at all, versions that do not go together, chart values that nobody reads."""

from __future__ import annotations

from typing import Any

from pydantic.alias_generators import to_camel

from gpu_fabric.spec.software import SchedulersSpec
from negative.base import Base
from negative.mistake import Applies, Kind, Mistake, Mistakes, provided_by, together, written, written_below

_GPU, _NETWORK, _SPIDER = (f"software.{section}.values" for section in ("gpuOperator", "networkOperator", "spiderpool"))
_SCHEDULERS = "software.schedulers"


def _with_gpu_operator(base: Base) -> bool:
    """Stacks on NVIDIA's GPUs that bring the GPU Operator."""
    return base.manager != "doks" and not base.amd and not base.has("software.gpuOperator.install")


def _by_dma_buf(base: Base) -> bool:
    return _with_gpu_operator(base) and base.line != "23.10"


def _with_network_operator(base: Base) -> bool:
    return _needs_network_operator(base) and not base.has("software.networkOperator.install")


def _needs_network_operator(base: Base) -> bool:
    """Stacks that bring the Network Operator, or use the cluster's own."""
    return base.manager == "network-operator" and base.model != "host-network"


def _with_new_network_operator(base: Base) -> bool:
    """Stacks whose Network Operator's chart does not make the policy."""
    return _with_network_operator(base) and base.line != "23.10"


def _with_new_gpu_operator(base: Base) -> bool:
    return _with_gpu_operator(base) and base.line != "23.10"


def _with_spiderpool(base: Base) -> bool:
    return base.manager == "spiderpool"


def _of_new_lines(base: Base) -> bool:
    """Stacks of a release line that has Kueue."""
    return base.line != "23.10"


def _given_together(changes: dict[str, Any], path: str) -> Mistakes:
    """Values at several places that are wrong together, in stacks of a line that has all of them."""
    return lambda base: iter([Mistake(changes, path)] if _of_new_lines(base) else [])


def _values(place: str, value: Any, at: str, where: Applies) -> Mistakes:
    """Values of a chart that are faulty at a dotted key below."""
    return written_below(place, f".{at}", value, where=where)


def _installed(*names: str, where: Applies) -> Mistakes:
    """Software that the cluster has, the last of it beside the stack's own."""
    return written_below("cluster.installed", f"[{len(names) - 1}]", list(names), where=where)


def _given(place: str, value: Any, path: str, where: Applies) -> Mistakes:
    """A value at one place that makes what another place decides wrong."""
    return lambda base: iter([Mistake({place: value}, path)] if where(base) else [])


_REMOVED: dict[str, Any] = {
    "deployCR": True,
    "nvIpam": {"deploy": True},
    "sriovDevicePlugin": {"deploy": True},
    "rdmaSharedDevicePlugin": {"deploy": True},
    "secondaryNetwork": {"deploy": True},
    "ofedDriver": {"deploy": True},
}

KINDS = (
    Kind("Multus comes a second time", "OWN003", together(
        _given("cluster.installed", ["multus"], "software.networkOperator.multus", _with_network_operator),
        _given("cluster.installed", ["multus"], "software.spiderpool.multus", _with_spiderpool))),
    Kind("Multus does not come at all", "OWN004", together(
        written("software.networkOperator.multus", False, where=_with_network_operator),
        written("software.spiderpool.multus", False, where=_with_spiderpool),
        _values(_SPIDER, {"multus": {"multusCNI": {"install": False}}}, "multus.multusCNI.install", _with_spiderpool))),
    Kind("an operator comes a second time", "OWN005", together(
        _installed("gpu-operator", where=_with_gpu_operator),
        _installed("network-operator", where=_with_network_operator),
        _installed("cert-manager", "gpu-operator", where=_with_gpu_operator),
        _installed("prometheus-operator", "network-operator", where=_with_network_operator))),
    Kind("a scheduler or a controller of jobs comes a second time", "SCH001",
        together(*(_given_together({f"{_SCHEDULERS}.{key}": {}, "cluster.installed": [name]}, f"{_SCHEDULERS}.{key}")
            for key, name in ((to_camel(field), field.replace("_", "-")) for field in SchedulersSpec.model_fields)))),
    Kind("a queue gives out less than one pod asks for", "SCH006",
        written_below(f"{_SCHEDULERS}.kueue", ".quotas.nvidia.com/gpu",
            *({"quotas": {"nvidia.com/gpu": few}} for few in ("0", "3")), where=_with_new_gpu_operator)),
    Kind("a queue stands on more than Kueue's objects hold", "SCH007",
        written_below(f"{_SCHEDULERS}.kueue", "", {"quotas": {f"example.com/part-{number}": "1"
            for number in range(61)}}, where=_of_new_lines)),
    Kind("Kubernetes is older than a chart takes", "REL001", together(
        written("cluster.kubernetes", "1.15", "1.12.9",
            where=lambda base: base.provider == "existing" and _with_gpu_operator(base)),
        written("cluster.kubernetes", "1.20", "1.19.3", where=_with_spiderpool),
        written("cluster.version", "1.15", where=provided_by("oke")))),
    Kind("a value is written that the Network Operator's chart has no more", "REL003",
        together(*(_values(_NETWORK, {key: value}, key, _with_new_network_operator)
            for key, value in _REMOVED.items()))),
    Kind("the shared device plug-in is configured as old charts of Spiderpool took it", "REL003",
        together(*(_values(_SPIDER, {"rdma": {"rdmaSharedDevicePlugin": {"deviceConfig": {key: value}}}},
            f"rdma.rdmaSharedDevicePlugin.deviceConfig.{key}", _with_spiderpool) for key, value in (("resourceName",
            "shared"), ("rdmaHcaMax", 100), ("vendors", "15b3"))))),
    Kind("values are written for a chart that the stack does not bring", "REL005", together(
        written(_SPIDER, {"multus": {"enableMultusConfig": False}}, where=lambda base: not _with_spiderpool(base)),
        written(_NETWORK, {"operator": {"resources": {}}}, where=lambda base: not _with_network_operator(base)),
        written(_GPU, {"driver": {"enabled": False}}, where=lambda base: not _with_gpu_operator(base)))),
    Kind("the container toolkit's tag names a distribution", "REL006",
        together(*(_values(_GPU, {"toolkit": {"version": tag}}, "toolkit.version", _with_new_gpu_operator)
            for tag in ("v1.18.0-ubuntu20.04", "v1.19.1-ubi8", "v1.18.2-centos7")))),
    Kind("GPUDirect Storage is asked for with the proprietary kernel module", "REL009",
        _given("software.gpuOperator", {"driver": True, "values": {"gds": {"enabled": True},
            "driver": {"kernelModuleType": "proprietary"}}}, f"{_GPU}.gds.enabled", _with_gpu_operator)),
    Kind(
        "the driver waits for network drivers that nobody installs",
        "REL010",
        together(
            *(
                _given(
                    "software.gpuOperator",
                    {"driver": True, "values": {"driver": {"rdma": {"enabled": True, **more}}}},
                    f"{_GPU}.driver.rdma.useHostMofed",
                    where,
                )
                # In line 23.10 the default is nvidia-peermem, which looks for the host's drivers unless told otherwise.
                for more, where in (({}, _by_dma_buf), ({"useHostMofed": False}, _with_gpu_operator))
            )
        ),
    ),
    Kind("the GPU Operator's parts no longer tolerate the pools' taint", "TNT002", together(
        _values(_GPU, {"daemonsets": {"tolerations": []}}, "daemonsets.tolerations", _with_gpu_operator),
        _values(_GPU, {"daemonsets": {"tolerations": [{"key": "dedicated", "operator": "Exists"}]}},
            "daemonsets.tolerations", _with_gpu_operator),
        _values(_GPU, {"node-feature-discovery": {"worker": {"tolerations": []}}},
            "node-feature-discovery.worker.tolerations", _with_gpu_operator))),
    Kind("Spiderpool's agents no longer tolerate the pools' taint", "TNT002",
        _values(_SPIDER, {"spiderpoolAgent": {"tolerations": []}}, "spiderpoolAgent.tolerations", _with_spiderpool)),
    Kind("values of a chart are no mapping", "SPC002", together(
        written(_GPU, ["driver.enabled=false"], "driver.enabled=false"),
        written(_NETWORK, "nfd.enabled=false"))),
)  # fmt: skip
