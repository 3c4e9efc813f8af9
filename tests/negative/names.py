"""Names that are none, are given twice, or are not there."""

from __future__ import annotations

from collections.abc import Iterator

from negative.base import Base
from negative.mistake import Kind, Mistake, provided_by, together, written, written_below

_POOL = "cluster.pools[0]"

_existing, _doks, _oke = provided_by("existing"), provided_by("doks"), provided_by("oke")


def _repeated_pool(base: Base) -> Iterator[Mistake]:
    yield Mistake({"cluster.pools": [base.pool, base.pool]}, "cluster.pools")
    yield Mistake({"cluster.pools": [base.pool, {**base.pool, "name": "other"}, base.pool]}, "cluster.pools")


def _names_of_nodes(base: Base) -> Iterator[Mistake]:
    names = [f"gpu-node-{number}" for number in range(base.nodes)]
    place = f"{_POOL}.nodeNames"
    if len(names) > 1:
        yield Mistake({place: names[:-1]}, place)
        yield Mistake({place: [*names[:-1], names[0]]}, place)
    yield Mistake({place: [*names, "one-more"]}, place)


def _names_of_no_nodes(base: Base) -> Iterator[Mistake]:
    nodes = base.pool["nodes"]
    names = [f"gpu-node-{number}" for number in range(nodes)]
    for wrong in ("GPU-NODE-0", "gpu_node", " ", "-gpu", "n" * 254):
        yield Mistake({f"{_POOL}.nodeNames": [*names[:-1], wrong]}, f"{_POOL}.nodeNames[{nodes - 1}]")


def _nodes_in_two_pools(base: Base) -> Iterator[Mistake]:
    first = {**base.pool, "nodes": 2, "nodeNames": ["gpu-node-0", "gpu-node-1"]}
    for place, others in ((0, ["gpu-node-1", "gpu-node-2"]), (1, ["gpu-node-2", "gpu-node-0"])):
        second = {**base.pool, "name": "more", "nodes": 2, "nodeNames": others}
        yield Mistake({"cluster.pools": [first, second]}, f"cluster.pools[1].nodeNames[{place}]")


KINDS = (
    Kind("a pool's name is no DNS label", "SPC002",
        written(f"{_POOL}.name", "GPU", "gpu_pool", "-gpu", "gpu-", "gpu pool", "", "g" * 64, "gpu.h100")),
    Kind("a namespace's name is no DNS label", "SPC002", together(
        written_below("fabric.namespaces", "[0].name", ["Jobs"], ["jobs_a"], [""], [{"name": "a.b"}]),
        written_below("fabric.namespaces", "[1].name", ["default", "team a"]))),
    Kind("a Kubernetes version is written in a way that nobody writes it", "SPC002",
        written("cluster.kubernetes", "v1.34", "1.34.1-do.0", "latest", "1.34+", "2.1", where=_existing)),
    Kind("a partition key is none", "SPC002",
        written("fabric.pkey", "17", "0x8001", "0xffff", "0xzz", "8001", "0x12345")),
    Kind("a label is none", "SPC002",
        written(f"{_POOL}.labels", {"team": "a b"}, {"-team": "a"}, {"a/b/c": "d"}, {"team": "x" * 64})),
    Kind("two pools have one name", "SPC002", _repeated_pool),
    Kind("there is no pool", "SPC002", written("cluster.pools", [])),
    Kind("the names of the nodes are not one per node", "SPC002", _names_of_nodes),
    Kind("a namespace is listed twice", "SPC002",
        written("fabric.namespaces", ["default", "default"], ["a", "b", {"name": "a", "create": True}])),
    Kind("a rail is listed twice", "SPC002",
        written("fabric.rails", [{"rail": 0}, {"rail": 0}], [{"rail": 1}, {"rail": 2}, {"rail": 1}])),
    Kind("no namespace is offered", "SPC002", written("fabric.namespaces", [])),
    Kind("the kubeconfig is given twice or not at all", "SPC002",
        lambda base: (Mistake(changes, "cluster.kubeconfig") for changes in ({"cluster.kubeconfig": None},
            {"cluster.kubeconfigSecret": "access"}) if base.has("cluster.kubeconfig") and base.provider == "existing")),
    Kind("the key that holds the kubeconfig has no name of a key", "SPC002",
        written("cluster.kubeconfigSecret", "My Secret", "gpu-fabric:access", "", where=_existing)),
    Kind("a node has a name that no node can have", "OBJ006", _names_of_no_nodes),
    Kind("a node is listed in two pools", "OBJ007", _nodes_in_two_pools),
    Kind("a taint has a key or value that none can have", "SPC002",
        together(*(written_below(f"{_POOL}.taints", f"[0].{key}", [{"key": "gpu", key: text}])
            for key, text in (("key", "nvidia.com/gpu:NoSchedule"), ("key", "my gpu"), ("key", ""), ("key", "a/b/c"),
            ("value", "a b"), ("value", "present="))))),
    Kind("a text is empty", "SPC002", together(
        *(written(f"cluster.{key}", "", where=_existing) for key in ("kubeconfig", "context", "id")),
        written("cluster.vpc.id", "", where=_doks),
        written_below("cluster.singleSignOn", ".issuerUrl", {"issuerUrl": "", "clientId": "x"}, where=_doks),
        written(f"{_POOL}.imageUri", "", where=_oke),
        written(f"{_POOL}.availabilityDomain", "", where=_oke))),
)  # fmt: skip
