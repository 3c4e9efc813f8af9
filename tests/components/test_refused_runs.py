"""Runs of the program that are refused before any resource: bad files, losses, other clusters, wrong parts."""

import json
import logging
from collections.abc import Callable
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import grpc
import pulumi
import pytest
from changes import changed
from fake_api_server import serving
from programs import ANSWERS, ROOT, STACKS, Config, cluster_stacks_outputs, run_program, stack_config
from recording import MINTED, Recording, UnknownStack, World, record

from gpu_fabric.changes.footprint import unpack
from gpu_fabric.contract.cluster import ClusterContract
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document
from stacks.live_cluster import cluster_refusal

Outputs = dict[str, Any]
H200, CLUSTER, PLATFORM = "doks-h200", "doks-split-cluster", "doks-split-platform"
TODAY = date(2026, 11, 22)


def run(stack: str, config: Config, world: World | None = None, **options: Any) -> Recording:
    """A run of a stack in a world; it must not have come to any resource where it is refused, but in a preview."""
    recording = Recording()
    world = World(ANSWERS, {}) if world is None else world
    try:
        return run_program(stack, config, world=world, today=TODAY, recording=recording, **options)
    except pulumi.RunError:
        assert bool(recording.resources) == bool(recording.outputs) == options.get("preview", False)
        raise


def refused(stack: str, config: Config, world: World | None = None, **options: Any) -> str:
    """Why such a run is refused."""
    with pytest.raises(pulumi.RunError) as refusal:
        run(stack, config, world, **options)
    return str(refusal.value)


def after(outputs: Outputs) -> World:
    """A world in which the stack's last run left these outputs."""
    return World(ANSWERS, outputs)


def opened(outputs: Outputs) -> Outputs:
    """Outputs with objects in the place of packed ones, as older versions gave them out."""
    return {**outputs, **{key: unpack(outputs[key]) for key in ("applied", "addressPlan") if key in outputs}}


def agreed(resource: str, expires: str = "2026-11-30") -> dict[str, Any]:
    return {"resource": resource, "expires": expires, "reason": "the bookkeeper said so"}


def told(caplog: pytest.LogCaptureFixture) -> list[tuple[int, str]]:
    """What the program told its user, each with how grave it is; warnings on the plan left out."""
    records = [record for record in caplog.records if record.levelno >= logging.INFO and record.name == "root"]
    return [(record.levelno, record.getMessage()) for record in records if " -> " not in record.getMessage()]


@pytest.fixture(autouse=True)
def _everything_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


# Files that cannot be used


def _many(config: Config) -> None:
    config["gpu-fabric:fabric"]["modell"] = "sriov"
    config["gpu-fabric:fabrik"] = {}
    config["gpu-fabric:cluster"]["kubeconfig"] = "nowhere/kubeconfig"
    config["gpu-fabric:cluster"]["pools"][0]["shape"] = "BM.GPU.H100.80"  # type: ignore[index]
    config["gpu-fabric:software"]["schedulers"] = {"kueue": None}


def _planned_only(config: Config) -> None:
    config["gpu-fabric:cluster"] = stack_config(STACKS["oke-h100"], Path())["gpu-fabric:cluster"]
    config["gpu-fabric:fabric"] |= {"manager": "spiderpool"}


@pytest.mark.parametrize(
    ("spoil", "lines"),
    [
        (_many,
            ["Pulumi.dev.yaml: 5 problems, nothing was created.", "gpu-fabric:fabric.modell: this key is not known",
                "did you mean 'model'?", "gpu-fabric:fabrik: this key is not known",
                "gpu-fabric:cluster.kubeconfig: nowhere/kubeconfig: no such file",
                "gpu-fabric:cluster.pools[0].shape: no shape",
                "gpu-fabric:software.schedulers.kueue: this key has no value"]),
        (lambda config: config["gpu-fabric:fabric"]["addressing"].update(supernet="192.168.0.0/26"),
            ["Pulumi.dev.yaml: 1 problem,", "gpu-fabric:fabric.addressing.supernet: 3 nodes x 1 address", "of /"]),
        (_planned_only,
            ["Pulumi.dev.yaml: 1 problem, nothing was created.", "error SUP007 ",
                "sriov by network-operator on existing or oke"]),
        (lambda config: config.pop("gpu-fabric:cluster"), ["gpu-fabric:cluster: this key is required"]),
    ],
)  # fmt: skip
def test_all_that_is_wrong_in_a_file_is_named_with_path_and_remedy_before_any_resource(
    kubeconfig: Path, spoil: Callable[[Config], Any], lines: list[str]
) -> None:
    config = stack_config(STACKS["dev"], kubeconfig)
    spoil(config)
    message = refused("dev", config)
    assert [line for line in lines if line not in message] == []


@pytest.mark.parametrize(
    ("stack", "lines"),
    [
        ("oke-h100",
            ["Pulumi reads no example: there is no Pulumi.oke-h100.yaml",
                "cp examples/Pulumi.oke-h100.yaml Pulumi.oke-h100.yaml"]),
        ("train", ["Pulumi.train.yaml: 1 problem, nothing was created.", "there is no stack file for 'train'"]),
    ],
)  # fmt: skip
def test_a_run_without_any_configuration_names_the_file_that_pulumi_would_read(stack: str, lines: list[str]) -> None:
    message = refused(stack, {})
    assert [line for line in lines if line not in message] == []
    assert message.count("error ") == 1


# What would be lost


def stack_with(nodes: int, *acknowledged: dict[str, Any]) -> Config:
    """The stack with so many nodes, and with entries of its guard."""
    config = deepcopy(stack_config(STACKS[H200], ROOT))
    config["gpu-fabric:cluster"]["pools"][0]["nodes"] = nodes  # type: ignore[index]
    return {**config, "gpu-fabric:guard": {"acknowledge": list(acknowledged)}}


@pytest.fixture(scope="module")
def last() -> Outputs:
    """The outputs of the last run, which made four nodes."""
    return opened(run_program(H200, stack_with(4)).outputs)


def test_fewer_nodes_are_refused_before_any_resource_and_at_the_end_of_a_preview(last: Outputs) -> None:
    text = refused(H200, stack_with(2), after(last))
    assert text.startswith("examples/Pulumi.doks-h200.yaml: 1 change needs an acknowledgement and has none")
    assert "cluster-pool-gpu: would get smaller" in text
    assert "2 nodes with 16 GPUs" in text
    assert "    - resource: cluster-pool-gpu" in text
    assert 'expires: "2026-11-29"' in text
    assert refused(H200, stack_with(2), after(last), preview=True) == text
    # What a run gives out is packed, and read as well.
    given = run(H200, stack_with(4), after(last)).outputs
    assert all(isinstance(given[key], str) for key in ("applied", "addressPlan"))
    assert refused(H200, stack_with(2), after(given)) == text


def test_the_plan_that_is_up_more_nodes_and_a_first_run_pass_without_a_word(
    last: Outputs, caplog: pytest.LogCaptureFixture
) -> None:
    same, more = (run(H200, stack_with(nodes), after(last)).resources for nodes in (4, 5))
    assert len(same) == len(more) == len(run(H200, stack_with(2)).resources) > 0
    assert told(caplog) == []


def test_what_is_acknowledged_passes_until_its_day_and_is_said_with_entry_and_day(
    last: Outputs, caplog: pytest.LogCaptureFixture
) -> None:
    passed = run(H200, stack_with(2, agreed("cluster-pool-gpu", "2026-11-22")), after(last))
    assert opened(passed.outputs)["applied"]["pools"][0]["nodes"] == 2
    ((level, text),) = told(caplog)
    assert level == logging.WARNING
    assert text.startswith("cluster-pool-gpu: would get smaller (nodeCount: 4 → 2).")
    assert text.endswith("entry cluster-pool-gpu, until 2026-11-22: the bookkeeper said so")
    expired = stack_with(2, agreed("cluster-pool-gpu", "2026-11-21"))
    assert "its acknowledgement expired on 2026-11-21" in refused(H200, expired, after(last))


@pytest.mark.parametrize(
    ("resource", "remark"),
    [("cluster-pool-gpu", "loses nothing: remove the entry"), ("cluster-pool-gqu", "did you mean 'cluster-pool-gpu'?")],
)
def test_an_acknowledgement_that_is_left_over_is_remarked(
    last: Outputs, caplog: pytest.LogCaptureFixture, resource: str, remark: str
) -> None:
    run(H200, stack_with(4, agreed(resource)), after(last))
    ((level, text),) = told(caplog)
    assert (level, remark in text) == (logging.INFO, True)


def test_a_stack_from_before_the_record_passes_and_is_told_so_once(
    last: Outputs, caplog: pytest.LogCaptureFixture
) -> None:
    first = run(H200, stack_with(2), after({key: value for key, value in last.items() if key != "applied"}))
    ((level, text),) = told(caplog)
    assert (level, "left no record of what it applied" in text) == (logging.INFO, True)
    caplog.clear()
    run(H200, stack_with(2), after(first.outputs))
    assert told(caplog) == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda outputs: outputs["applied"].update(resources=[{"type": "a"}]),
        lambda outputs: outputs["addressPlan"].pop("proof"),
        lambda outputs: outputs.update(fabric="gone"),
        lambda outputs: outputs.update(applied="bm90IHBhY2tlZA=="),
    ],
    ids=["a strange resource", "no number of nodes", "no contract", "nothing packed"],
)
def test_a_record_that_cannot_be_read_is_said_and_written_anew(
    last: Outputs, caplog: pytest.LogCaptureFixture, spoil: Callable[[Outputs], Any]
) -> None:
    outputs = deepcopy(last)
    spoil(outputs)
    assert opened(run(H200, stack_with(4), after(outputs)).outputs)["applied"] == last["applied"]
    ((level, text),) = told(caplog)
    assert (level, "cannot be read by this version" in text) == (logging.WARNING, True)


class Unloadable(grpc.RpcError):
    """What the engine answers where it finds a state that is half written."""

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return "failed to load checkpoint: EOF"


class Failing(World):
    """A world whose engine answers so the first times that it is asked for a stack's outputs."""

    def __init__(self, outputs: Outputs, error: Exception, times: int) -> None:
        super().__init__(ANSWERS, outputs)
        self.error, self.times, self.asked = error, times, 0

    def outputs_of(self, stack: str) -> dict[str, Any]:
        self.asked += 1
        if self.asked <= self.times:
            raise self.error
        return super().outputs_of(stack)


def test_a_state_that_is_just_being_written_is_asked_for_again_and_one_that_stays_broken_ends_the_run(
    last: Outputs, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("components.engine.stack_outputs.time.sleep", pauses.append)
    written, broken = Failing(last, Unloadable(), 2), Failing(last, Unloadable(), 99)
    assert "would get smaller" in refused(H200, stack_with(2), written)
    assert (written.asked, len(pauses)) == (3, 2)
    message = refused(H200, stack_with(4), broken)
    assert "nothing was changed: " in message
    assert "failed to load checkpoint: EOF" in message
    assert broken.asked == 5
    assert 1 < sum(pauses) < 20
    silent = Failing(last, UnknownStack(H200), 99)
    assert "cannot tell what was applied last, and so nothing was changed" in refused(H200, stack_with(4), silent)


# Which cluster a run is on, where the stack does not make it

TOKEN = "a-token-that-no-message-repeats"
MOVED = "cluster-kubernetes: would change while it is in use"
STAYING = agreed("cluster-kubernetes")
BOTH = {"prod": "https://prod:6443", "staging": "https://staging:6443"}


def merged(current: str, **servers: str) -> str:
    """A kubeconfig of several clusters, by the names of their contexts."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": current,
            "contexts": [{"name": name, "context": {"cluster": name, "user": "me"}} for name in servers],
            "clusters": [{"name": name, "cluster": {"server": server}} for name, server in servers.items()],
            "users": [{"name": "me", "user": {"token": TOKEN}}],
        }
    )


class Runs:
    """Runs of a stack one after another, each held against what the one before gave out."""

    def __init__(self, folder: Path, stack: str = "dev") -> None:
        self.kubeconfig = folder / "kubeconfig"
        self.stack = stack
        self.outputs: Outputs = {}

    def config(self, text: str, cluster: dict[str, Any], *acknowledge: dict[str, Any]) -> Config:
        self.kubeconfig.write_text(text)
        config = deepcopy(stack_config(STACKS[self.stack], self.kubeconfig))
        config["gpu-fabric:cluster"] = {**config["gpu-fabric:cluster"], **cluster}
        return {**config, "gpu-fabric:guard": {"acknowledge": list(acknowledge)}}

    def up(self, text: str, *acknowledge: dict[str, Any], **cluster: str) -> Recording:
        found = run(self.stack, self.config(text, cluster, *acknowledge), after(self.outputs))
        self.outputs = found.outputs
        return found

    def refused(self, text: str, *, preview: bool = False, **cluster: str) -> str:
        message = refused(self.stack, self.config(text, cluster), after(self.outputs), preview=preview)
        assert TOKEN not in message
        return message


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    """The dev stack, brought up on one of two clusters."""
    found = Runs(tmp_path)
    found.up(merged("prod", **BOTH))
    return found


# One with pools of addresses and networks, one whose pods use the hosts' own network, and one with an own IPAM.
@pytest.mark.parametrize(
    ("stack", "preview"), [("dev", False), ("dev", True), ("host-network", False), ("spiderpool-macvlan", False)]
)
def test_a_switched_context_is_refused_with_both_ways_back(tmp_path: Path, stack: str, preview: bool) -> None:
    runs = Runs(tmp_path, stack)
    runs.up(merged("prod", **BOTH))
    text = runs.refused(merged("staging", **BOTH), preview=preview)
    assert MOVED in text
    assert "the kubeconfig leads to another cluster than in the last run" in text
    assert "This run's kubeconfig leads to context staging, server https://staging:6443." in text
    assert "write `context: prod` under `gpu-fabric:cluster`" in text
    assert f"write `id: {runs.outputs['clusterId']}` under `gpu-fabric:cluster`" in text
    assert "    - resource: cluster-kubernetes" in text


def test_whatever_leads_to_another_address_is_refused(runs: Runs) -> None:
    assert MOVED in runs.refused(merged("prod", **BOTH), context="staging")
    for server in ("https://elsewhere:6443", "https://prod:6444", "https://127.0.0.1:9"):
        assert MOVED in runs.refused(merged("prod", prod=server))
    # By a record of an older version as well.
    applied = unpack(runs.outputs["applied"])
    del applied["address"]
    runs.outputs["applied"] = applied
    assert MOVED in runs.refused(merged("staging", **BOTH))


def test_the_same_cluster_passes_by_its_context_by_new_credentials_and_by_its_id_which_is_said_once(
    runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.clear()
    runs.up(merged("prod", **BOTH).replace(TOKEN, "a-later-token"))
    # A run says where it is and what leaves that open.
    assert caplog.messages[0].startswith("CLU011 gpu-fabric:cluster.context: ")
    assert "cluster: context prod, server https://prod:6443" in caplog.messages
    caplog.clear()
    assert runs.up(merged("staging", **BOTH), context="prod").resources
    assert "CLU011" not in caplog.text
    assert runs.up(merged("only", only=BOTH["prod"])).resources

    known, moved = runs.outputs["clusterId"], merged("prod", prod="https://load-balancer:6443")
    assert runs.up(moved, id=known).outputs["clusterId"] == known
    assert "another address than in the last run: context prod, server https://load-balancer:6443" in caplog.text
    caplog.clear()
    runs.up(moved, id=known)
    assert "another address" not in caplog.text


def test_another_id_is_refused_with_the_id_of_the_last_run_and_a_move_on_purpose_is_where_the_next_run_is(
    runs: Runs,
) -> None:
    assert f"cluster.id: {runs.outputs['clusterId']} → mine" in runs.refused(merged("prod", **BOTH), id="mine")
    runs.up(merged("prod", **BOTH), STAYING, id="mine")
    assert "cluster.id: mine → " in runs.refused(merged("prod", **BOTH))
    runs.up(merged("staging", **BOTH), STAYING)
    assert runs.up(merged("staging", **BOTH)).resources
    assert MOVED in runs.refused(merged("prod", **BOTH))


def test_a_kubeconfig_of_a_secret_is_held_against_the_last_run_as_well(
    runs: Runs, caplog: pytest.LogCaptureFixture
) -> None:
    config = runs.config("", {"kubeconfigSecret": "access"})
    del config["gpu-fabric:cluster"]["kubeconfig"]

    def by_secret(text: str | None) -> str:
        secrets = {} if text is None else {"gpu-fabric:access": text}
        return refused("dev", config, after(runs.outputs), secrets=secrets)

    assert run("dev", config, after(runs.outputs), secrets={"gpu-fabric:access": merged("prod", **BOTH)}).resources
    assert "the secret access has contexts of several clusters (prod, staging)" in caplog.text
    assert MOVED in by_secret(merged("staging", **BOTH))
    for text in (None, "", "no: kubeconfig", merged("nowhere", **BOTH)):
        message = by_secret(text)
        assert "gpu-fabric:access" in message
        assert TOKEN not in message


@pytest.mark.parametrize("stack", ["oke-h100", "oke-h200"])
def test_who_relies_on_others_operators_on_a_cluster_of_ones_own_is_told_what_it_lacks(stack: str) -> None:
    theirs = {"software.networkOperator": {"install": False, "policy": "theirs"}}
    found = prepare(changed(read_document(stack, ROOT), theirs), for_up=False)
    said: list[str] = []

    def look(outputs: dict[str, Any]) -> str:
        record(lambda: said.append(cluster_refusal(found.spec, found.plan, ROOT)), stack=stack, world=after(outputs))
        return said.pop()

    with serving() as server:
        text = look({"kubeconfig": server.kubeconfig(TOKEN), "applied": "{}"})
    missing = "the cluster has no definition ippools.nv-ipam.nvidia.com, though the stack file says that it has Network"
    assert missing in text
    assert server.bearers == {TOKEN}
    with pytest.raises(pulumi.RunError, match=r"has created no cluster yet; a first `up` with install: true"):
        look({})


# A cluster and what lies on it as two stacks


@pytest.fixture(scope="module")
def made() -> Outputs:
    """What the cluster stack has given out."""
    return cluster_stacks_outputs(stack_config(STACKS[PLATFORM], ROOT))[CLUSTER]


@pytest.fixture(scope="module")
def platform() -> Outputs:
    """The outputs of the last run of the platform."""
    return opened(run_program(PLATFORM, stack_config(STACKS[PLATFORM], ROOT)).outputs)


def platform_of(*acknowledged: dict[str, Any], **split: str) -> Config:
    """The platform with other words on whose cluster it lies."""
    config = stack_config(STACKS[PLATFORM], ROOT)
    named = {**config["gpu-fabric:split"], **split}
    return {**config, "gpu-fabric:split": named, "gpu-fabric:guard": {"acknowledge": list(acknowledged)}}


def beside(cluster_stack: Outputs, last: Outputs, cluster_id: str = "") -> World:
    """A world with the cluster stack's outputs, perhaps with a cluster of another id."""
    others = deepcopy({CLUSTER: cluster_stack})
    if cluster_id:
        others[CLUSTER]["cluster"]["clusterId"] = cluster_id
    return World(ANSWERS, last, others)


def test_each_part_makes_what_is_its_own_and_has_outputs_of_its_own(
    recorded: Callable[[str], Recording], made: Outputs
) -> None:
    cluster, platform = recorded(CLUSTER), recorded(PLATFORM)
    of_cluster = {entry.type.rpartition(":")[2] for entry in cluster.resources if entry.custom}
    assert of_cluster == {"digitalocean", "Vpc", "KubernetesCluster", "KubernetesNodePool", "kubernetes"}
    others = {entry.type for entry in platform.resources if entry.custom and not entry.type.startswith("kubernetes:")}
    assert others == {"pulumi:providers:kubernetes"}
    assert {entry.deleted_with for entry in platform.resources} == {""}
    assert set(cluster.outputs) == {"applied", "cluster", "clusterId", "kubeconfig"}
    assert set(platform.outputs) == {"applied", "fabric", "addressPlan"}
    contract = ClusterContract.model_validate(made["cluster"])
    assert (contract.cluster_id, contract.name) == ("cluster-doks-id", CLUSTER)
    assert [(pool.name, pool.nodes) for pool in contract.pools] == [("gpu", 2)]
    assert MINTED not in json.dumps(made["cluster"])


def test_a_platform_is_on_the_cluster_stacks_cluster_by_its_secret_kubeconfig_in_a_preview_too(
    recorded: Callable[[str], Recording], made: Outputs
) -> None:
    provider = recorded(PLATFORM)["cluster-kubernetes"]
    assert provider.inputs["clusterIdentifier"] == "cluster-doks-id"
    assert (provider.inputs["kubeconfig"], provider.secrets) == (made["kubeconfig"], {"kubeconfig"})
    previewed = run(PLATFORM, platform_of(), beside(made, {}), environment={}, preview=True)
    whole = {entry.name: entry.inputs for entry in recorded(PLATFORM).resources}
    assert {entry.name: entry.inputs for entry in previewed.resources} == whole


def _older(outputs: Outputs) -> None:
    pool = outputs["cluster"]["pools"][0]
    outputs["cluster"]["pools"] = [{**pool, "nodes": 1}, {**pool, "name": "gone"}]
    outputs["cluster"]["kubernetesVersion"] = "1.35.1-do.0"


UP_FIRST = f"-> run `up` of that stack first: `pulumi up --stack {CLUSTER}`"
ENCRYPTED = "give this run what decrypts that stack's secrets"


@pytest.mark.parametrize(
    ("spoil", "lines"),
    [
        (None, [f"unknown stack 'organization/gpu-fabric/{CLUSTER}'", UP_FIRST]),
        (lambda outputs: outputs.clear(), [f"the cluster stack {CLUSTER} has created no cluster yet", UP_FIRST]),
        (_older,
            ["kubernetesVersion: it has 1.35.1-do.0, the file says 1.36.1-do.0",
                "pools.gpu.nodes: it has 1, the file says 2", "pools.gone.nodes: it has 2, the file says none",
                UP_FIRST]),
        (lambda outputs: outputs.update(cluster={"schemaVersion": "v2"}),
            ["was written by another version of this program"]),
        (lambda outputs: outputs.update(kubeconfig=None), [ENCRYPTED]),
        (lambda outputs: outputs.update(kubeconfig=""), [ENCRYPTED]),
        (lambda outputs: outputs.update(kubeconfig="[secret]"), [ENCRYPTED]),
    ],
)  # fmt: skip
def test_a_platform_is_refused_where_its_cluster_is_not_there_or_not_as_its_file_says(
    made: Outputs, spoil: Callable[[Outputs], Any] | None, lines: list[str]
) -> None:
    found = deepcopy(made)
    if spoil is not None:
        spoil(found)
    world = World(ANSWERS, {}, {"another": {}} if spoil is None else {CLUSTER: found})
    text = refused(PLATFORM, platform_of(), world, environment={})
    assert [line for line in lines if line not in text] == []


def test_a_platform_is_refused_on_another_cluster_until_it_is_acknowledged_and_is_then_on_record_there(
    made: Outputs, platform: Outputs
) -> None:
    text = refused(PLATFORM, platform_of(), beside(made, platform, "another-id"))
    assert "clusterId: cluster-doks-id → another-id: its stack has created another cluster" in text
    assert "    - resource: cluster-kubernetes" in text
    moved = run(PLATFORM, platform_of(STAYING), beside(made, platform, "another-id")).outputs
    assert opened(moved)["applied"]["clusterId"] == "another-id"
    assert run(PLATFORM, platform_of(), beside(made, moved, "another-id")).resources


def test_a_platform_of_another_organization_is_the_same_by_the_same_id_and_another_by_another(
    made: Outputs, platform: Outputs
) -> None:
    asked: list[str] = []

    class Listening(World):
        def outputs_of(self, stack: str) -> dict[str, Any]:
            asked.append(stack)
            return super().outputs_of(stack)

    theirs = platform_of(organization="cluster-team")
    now = run(PLATFORM, theirs, Listening(ANSWERS, platform, {CLUSTER: made}))
    assert opened(now.outputs)["applied"]["split"]["organization"] == "cluster-team"
    assert {name for name in asked if name.endswith(CLUSTER)} == {f"cluster-team/gpu-fabric/{CLUSTER}"}
    text = refused(PLATFORM, theirs, beside(made, platform, "another-id"))
    assert "split.organization: not stated → cluster-team" in text
