"""The budget of exclusive subnets: a pool for every node and rail, on a cluster of 256 nodes against one of 32."""

from __future__ import annotations

import sys
import time

from sandbox.control_plane import ControlPlane
from sandbox.engine.commands import Stack, on_the_sandbox
from sandbox.home import SandboxHome, project_root
from sandbox.kubernetes_api import Api
from sandbox.simulated_nodes import desired_nodes, reconcile_nodes, wait_nodes_ready
from tests.bench.budget import Budget
from tests.bench.sandbox import Bench

STACK = "spiderpool-sriov"
_FEW, _MANY = 32, 256


def stack_of(nodes: int, home: SandboxHome, *, bare: bool = False) -> Stack:
    """The stack of exclusive subnets, cut so that 256 nodes have room, with so many of them.

    A `bare` one has nothing beside its pools that needs pods on every node but Spiderpool itself: macvlan instead of
    virtual functions, no host preparation, no check, and GPUs that NVIDIA's operator does not serve.
    """
    from gpu_fabric.prepare import prepare
    from gpu_fabric.spec.load import read_document, stack_file, validate

    document = on_the_sandbox(read_document(STACK, project_root()), home)
    names = [f"node{number}" for number in range(1, nodes + 1)]
    pool = {**document.sections["cluster"]["pools"][0], "nodes": nodes, "nodeNames": names}
    wide = {"supernet": "172.17.0.0/16", "prefixLength": 19}
    cluster, fabric = document.sections["cluster"], document.sections["fabric"]
    if bare:
        pool["labels"] = {"fabric": "yes"}
        (name, shape), *_ = cluster["shapes"].items()
        cluster = {**cluster, "shapes": {name: {**shape, "gpus": {"vendor": "amd", "model": "MI300X", "count": 8}}}}
        left_out = ("hostPreparation", "check", "vfsPerNic")
        fabric = {key: value for key, value in fabric.items() if key not in left_out}
        fabric |= {"model": "macvlan", "podsPerNic": 8}
    sections = {
        **document.sections,
        "cluster": {**cluster, "pools": [pool]},
        "fabric": {**fabric, "addressing": {**fabric["addressing"], **wide}},
    }
    document = document.model_copy(update={"sections": sections})
    spec, problems = validate(document)
    if spec is None:
        raise ValueError(f"the stack {STACK} cannot be widened: {problems}")
    return Stack(STACK, stack_file(STACK, project_root()), spec, prepare(document, for_up=True).plan, sections)


def exclusive_pools(bench: Bench) -> Budget:
    """What `make up` does on an empty sandbox, with 256 nodes and 2,048 pools against 32 nodes with 256.

    The cluster starts, its nodes appear, and the stack comes up. It is a bare one: what more simulated pods take is no
    part of it. The engine's own part is printed beside the whole.
    """
    seconds = []
    for nodes in (_FEW, _MANY):
        bench.clear()
        began = time.monotonic()
        ControlPlane(bench.home, lambda _line: None, bench.home.remembered_ports()).up(bench.toolchain)
        stack = stack_of(nodes, bench.home, bare=True)
        api = Api(bench.home.kubeconfig)
        reconcile_nodes(api, desired_nodes(stack.spec))
        wait_nodes_ready(api)
        bench.make_stack(STACK)
        engine = time.monotonic()
        bench.engine("up", "--yes", "--skip-preview", stack=STACK, sections=stack.sections)
        seconds.append(time.monotonic() - began)
        part = f"of which the stack {time.monotonic() - engine:.1f} s"
        print(f"  {nodes} nodes: {seconds[-1]:.1f} s, {part}", file=sys.stderr, flush=True)
    few, many = seconds
    return Budget(f"make up of {_MANY} nodes with 2,048 pools : of {_FEW} with 256", many, few, "s", 2.2)
