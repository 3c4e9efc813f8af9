"""Look-ups at Oracle while a cluster is created: domains, services, images, and the cluster's authority."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pulumi
import yaml

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from gpu_fabric.plan.clouds.record import Lookup, Record, Ref
from gpu_fabric.resources.cloud import wire_function, wire_properties

from .records import References, not_known_yet, resolve_references, value_at
from .settings import SettingsPlace

_TENANCY = "oci:tenancyOcid"
_ARM_SHAPE = re.compile(r"\.A\d\.|GB[23]00")
_BUILD = re.compile(r"(\d{4}\.\d{2}\.\d{2})-\d+-OKE-[\d.]+-(\d+)")


_IMAGES, _POOLS = "containerengine.get_node_pool_option", "containerengine.get_node_pools"
# States of pools that Oracle still lists, but that start no machines any more.
_ENDED = ("DELETING", "DELETED", "FAILED")


class Machines(NamedTuple):
    """The machines that an image is for: their shape, and their node pool if they have one."""

    shape: str = ""
    pool: str = ""
    version: str = ""

    @classmethod
    def of(cls, record: Record) -> Machines:
        """The machines of a record; without a pool if the record is not a node pool."""
        given = record.arguments
        if record.kind != "containerengine.NodePool":
            return cls(str(given.get("node_shape", "")))
        return cls(str(given["node_shape"]), str(given["name"]), str(given["kubernetes_version"]))


class Lookups:
    """The plan's look-ups; each is made once, when a record refers to it.

    In a preview a look-up may depend on a resource that does not exist yet; its answer is then unknown.
    """

    def __init__(
        self,
        planned: Iterable[Lookup],
        provider: pulumi.ProviderResource,
        tenancy: pulumi.Input[str] | None,
        settings: SettingsPlace,
    ) -> None:
        self._settings = settings
        self._planned = {lookup.logical_name: lookup for lookup in planned}
        self._provider = provider
        self._tenancy = tenancy
        self._answers: dict[str, pulumi.Output[Any]] = {}

    def answer(self, ref: Ref, record: Record | None, references: References) -> pulumi.Input[Any] | None:
        """An output of a look-up; None if the reference is not to a look-up. An image fits the record's machines.

        A node pool keeps its image although Oracle keeps publishing newer ones. Another Kubernetes version changes the
        image too, since Oracle requires both to be of one version.
        """
        lookup = self._planned.get(ref.ref)
        if lookup is None:
            return None
        if lookup.function == _TENANCY:
            return self._tenancy
        machines = Machines() if record is None else Machines.of(record)
        read = self._reader(lookup, ref.output, machines)
        pools = next((each for each in self._planned.values() if each.function == _POOLS), None)
        if lookup.function == _IMAGES and machines.pool and pools is not None:
            both = pulumi.Output.all(self._answer_to(lookup, references), self._answer_to(pools, references))
            return both.apply(lambda answers: _image_of(answers[1], machines) or read(answers[0]))
        return self._answer_to(lookup, references).apply(read)

    def _reader(self, lookup: Lookup, output: str, machines: Machines) -> Callable[[Mapping[str, Any]], str]:
        """Reads an output of a look-up from Oracle's answer; errors name the user's own settings."""

        def read(answer: Mapping[str, Any]) -> str:
            try:
                return _READERS[lookup.function](answer, output, machines.shape)
            except pulumi.RunError as error:
                raise pulumi.RunError(self._settings.words(str(error))) from None

        return read

    def _answer_to(self, lookup: Lookup, references: References) -> pulumi.Output[Any]:
        """Oracle's answer to a look-up."""
        if lookup.logical_name not in self._answers:
            answer: pulumi.Output[Any] = pulumi.runtime.invoke_output(
                wire_function(lookup.function),
                resolve_references(wire_properties(lookup.arguments), references),
                pulumi.InvokeOutputOptions(provider=self._provider, version=PLUGIN_VERSIONS["oci"]),
            )
            self._answers[lookup.logical_name] = answer.apply(_known)
        return self._answers[lookup.logical_name]


def needs_tenancy(lookups: Iterable[Lookup]) -> bool:
    """Whether the plan needs the tenancy's id and does not have it."""
    return any(lookup.function == _TENANCY for lookup in lookups)


def _known(answer: Mapping[str, Any]) -> Any:
    """An answer, which in a preview is empty if the provider's settings are not known yet."""
    return answer if answer or not pulumi.runtime.is_dry_run() else not_known_yet()


def _service(answer: Mapping[str, Any], output: str, shape: str) -> str:
    services = answer["services"]
    if not services:
        raise pulumi.RunError("Oracle names no services for a service gateway in this region")
    return str(value_at(services[0], output))


def _domain(answer: Mapping[str, Any], output: str, shape: str) -> str:
    names = [str(domain["name"]) for domain in answer["availabilityDomains"]]
    # With the separator, AD-1 does not match AD-11.
    found = next((name for name in names if name.endswith((f"-{output}", f":{output}"))), None)
    if found is None:
        raise pulumi.RunError(f"the region has no availability domain {output}; it has {', '.join(names)}")
    return found


def _image(answer: Mapping[str, Any], output: str, shape: str) -> str:
    """The newest of Oracle's images: with GPU drivers or not, and for the shape's processors."""
    sources: Sequence[Mapping[str, Any]] = answer["sources"]
    gpu, arm = output == "image_for_gpus", _ARM_SHAPE.search(shape) is not None
    fitting = {
        build[1] + build[2].zfill(8) + name: str(source["imageId"])
        for source in sources
        if (build := _BUILD.search(name := str(source["sourceName"])))
        if ("GPU" in name) == gpu and ("aarch64" in name) == arm
    }
    if not fitting:
        key = f"{'pools[]' if gpu else 'systemPool'}.imageId, or of a pool outside the fabric otherPools[].imageId"
        raise pulumi.RunError(
            f"Oracle offers no node image for {shape} and this Kubernetes version; write gpu-fabric:cluster.{key}"
        )
    return fitting[max(fitting)]


def _image_of(answer: Mapping[str, Any], machines: Machines) -> str | None:
    """The image of the node pool of this name and version; None if there is none."""
    for pool in answer["nodePools"]:
        same = (pool["name"], pool["kubernetesVersion"]) == (machines.pool, machines.version)
        if same and pool.get("state") not in _ENDED and (details := pool.get("nodeSourceDetails")):
            return str(details[0]["imageId"])
    return None


def _authority(answer: Mapping[str, Any], output: str, shape: str) -> str:
    clusters = yaml.safe_load(answer["content"])["clusters"]
    return str(clusters[0]["cluster"]["certificate-authority-data"])


_READERS: dict[str, Callable[[Mapping[str, Any], str, str], str]] = {
    "core.get_services": _service,
    "identity.get_availability_domains": _domain,
    "containerengine.get_node_pool_option": _image,
    "containerengine.get_cluster_kube_config": _authority,
}
