"""Spiderpool's resources: in which order, what they wait for, what replaces them, and what stays when they go."""

from __future__ import annotations

import base64
import json
import traceback
from itertools import pairwise
from pathlib import Path
from typing import Any

import pulumi
import pytest
from programs import STACKS, run_program, stack_config
from recording import Recording, Registration
from stub_cluster import KUBECONFIG, TOKEN

pytestmark = pytest.mark.components

Config = dict[str, dict[str, Any]]
PRIVATE = "-----BEGIN PRIVATE KEY----- c0ntent-of-the-key"
CERTIFICATE = {"certificate": "our certificate", "key": PRIVATE, "authority": "our authority"}
IN_ORDER = (
    "namespaces",
    "gpu-operator",
    "ofed-driver",
    "host-preparation",
    "spiderpool",
    "reserved-ips",
    "node-pools",
    "nic-addresses",
    "networks",
    "check",
)
# Nodes get their virtual functions while the pools are made.
MEANWHILE = (("spiderpool", "sriov"), ("sriov", "networks"))


def config_of(stack: str, kubeconfig: Path) -> Config:
    return stack_config(STACKS[stack], kubeconfig)


def with_everything(kubeconfig: Path) -> Config:
    """The guide's exclusive subnets with every part that Spiderpool's stacks may have."""
    config = config_of("spiderpool-sriov", kubeconfig)
    config["gpu-fabric:fabric"]["addressing"]["exclude"] = ["172.17.0.40"]
    config.setdefault("gpu-fabric:software", {}).update(
        ofedDriver={"os": "ubuntu", "osVersion": "22.04"}, spiderpool={"coordinator": {"podCidrType": "none"}}
    )
    return config


@pytest.fixture(scope="module")
def everything(kubeconfig: Path) -> Recording:
    return run_program("spiderpool-sriov", with_everything(kubeconfig))


def of_component(recording: Recording, name: str) -> list[Registration]:
    return [resource for resource in recording.resources if resource.parent == name]


@pytest.mark.parametrize(("earlier", "later"), [*pairwise(IN_ORDER), *MEANWHILE])
def test_every_part_waits_for_all_of_the_part_before_it(everything: Recording, earlier: str, later: str) -> None:
    first, second = of_component(everything, earlier), of_component(everything, later)
    missing = [(b.name, a.name) for b in second for a in first if not everything.comes_after(b.name, a.name)]

    assert first
    assert second
    assert missing == []


def test_a_rails_pools_for_all_nodes_are_one_resource(everything: Recording) -> None:
    rails = of_component(everything, "node-pools")
    pools = rails[0].inputs["objects"]["SpiderIPPool"]

    assert len(rails) == 8
    assert [pools[name]["spec"]["nodeName"] for name in sorted(pools)] == [[f"node{n}"] for n in range(1, 9)]


def test_the_kubeconfig_of_a_rails_pools_is_a_secret_and_shows_nowhere_else(everything: Recording) -> None:
    for rail in of_component(everything, "node-pools"):
        open_inputs = {name: value for name, value in rail.inputs.items() if name != "kubeconfig"}
        code = base64.b64decode(rail.inputs["__provider"])

        assert rail.inputs["kubeconfig"] == KUBECONFIG
        assert "kubeconfig" in rail.secrets
        assert TOKEN not in json.dumps(open_inputs)
        assert TOKEN.encode() not in code


def test_what_a_rails_pools_are_recorded_with_is_the_same_in_every_run_and_holds_no_code(
    everything: Recording, kubeconfig: Path
) -> None:
    again = run_program("spiderpool-sriov", with_everything(kubeconfig))
    first, second = (
        [rail.inputs["__provider"] for rail in of_component(run, "node-pools")] for run in (everything, again)
    )

    assert first == second
    assert len(base64.b64decode(first[0])) < 200


def registered_with(nodes: int, kubeconfig: Path) -> list[str]:
    """Resources of a cluster of nodes with two rails, each with a pool of its own."""
    config = config_of("spiderpool-sriov", kubeconfig)
    names = [f"gpu-{node}" for node in range(nodes)]
    nic_model = {
        "model": "ConnectX-7",
        "vendorId": "15b3",
        "deviceId": "1021",
        "vfDeviceId": "101e",
        "linkType": "ether",
    }
    nics = [{"pci": f"0000:{rail}a:00.0", "interface": f"rdma{rail}"} for rail in range(2)]
    shape = {"gpus": {"vendor": "nvidia", "model": "L40S", "count": 2}, "nicModel": nic_model, "nics": nics}
    config["gpu-fabric:cluster"]["shapes"] = {"two-rails": shape}
    pool = {"name": "gpu", "shape": "two-rails", "nodes": nodes, "nodeNames": names}
    config["gpu-fabric:cluster"]["pools"] = [pool]
    config["gpu-fabric:fabric"]["addressing"] |= {"supernet": "172.16.0.0/14", "prefixLength": 18}
    return sorted(resource.name for resource in run_program("spiderpool-sriov", config).resources)


def test_the_number_of_resources_does_not_depend_on_the_number_of_nodes_with_pools_of_their_own(
    kubeconfig: Path,
) -> None:
    assert registered_with(256, kubeconfig) == registered_with(32, kubeconfig)


def test_the_coordinator_is_patched_and_never_deleted(everything: Recording) -> None:
    (patched,) = everything.of_type("SpiderCoordinatorPatch")

    assert patched.inputs["metadata"]["name"] == "default"
    assert patched.inputs["spec"] == {"podCIDRType": "none"}
    assert patched.retain_on_delete
    assert not [
        resource.name for resource in everything.of_type(("Release", "SpiderMultusConfig")) if resource.retain_on_delete
    ]


def test_a_coordinator_that_the_stack_file_says_nothing_about_is_left_alone(kubeconfig: Path) -> None:
    recording = run_program("spiderpool-ib", config_of("spiderpool-ib", kubeconfig))

    assert recording.of_type("SpiderCoordinatorPatch") == []


def test_what_the_api_lets_nobody_change_is_deleted_and_made_anew(kubeconfig: Path) -> None:
    recording = run_program("spiderpool-macvlan", config_of("spiderpool-macvlan", kubeconfig))
    found = {
        kind: {(entry.replace_on_changes, entry.delete_before_replace) for entry in recording.of_type(f":{kind}")}
        for kind in ("SpiderIPPool", "SpiderMultusConfig")
    }

    assert found == {
        "SpiderIPPool": {(frozenset({"spec.subnet"}), True)},
        "SpiderMultusConfig": {(frozenset({"spec.cniType"}), True)},
    }


@pytest.mark.parametrize("dry_run", [False, True])
def test_only_a_dry_runs_daemon_sets_are_not_waited_for(kubeconfig: Path, dry_run: bool) -> None:
    config = config_of("spiderpool-sriov", kubeconfig)
    config["gpu-fabric:fabric"]["hostPreparation"]["dryRun"] = dry_run
    recording = run_program("spiderpool-sriov", config)
    annotations = {
        (entry.parent, entry.inputs["metadata"].get("annotations", {}).get("pulumi.com/skipAwait"))
        for entry in recording.of_type("apps/v1:DaemonSet")
    }

    skipped = "true" if dry_run else None
    assert annotations == {("host-preparation", skipped), ("nic-addresses", skipped), ("check", None)}


def with_certificate(kubeconfig: Path, content: str) -> Recording:
    """The macvlan stack, whose webhooks' certificate is in the secret key `webhook-certificate`."""
    config = config_of("spiderpool-macvlan", kubeconfig)
    tls = {"method": "provided", "secret": "webhook-certificate"}
    config["gpu-fabric:software"]["spiderpool"] = {"tls": tls}
    secrets = {"gpu-fabric:webhook-certificate": content}
    return run_program("spiderpool-macvlan", config, secrets=secrets)


def test_a_provided_certificate_reaches_the_chart_in_base64_and_as_a_secret(kubeconfig: Path) -> None:
    recording = with_certificate(kubeconfig, json.dumps(CERTIFICATE))
    release = recording["spiderpool-spiderpool"]
    provided = release.inputs["values"]["spiderpoolController"]["tls"]["provided"]

    assert {name: base64.b64decode(value).decode() for name, value in provided.items()} == {
        "tlsCert": "our certificate",
        "tlsKey": PRIVATE,
        "tlsCa": "our authority",
    }
    assert "values" in release.secrets


def test_a_provided_certificate_shows_nowhere_else(kubeconfig: Path) -> None:
    recording = with_certificate(kubeconfig, json.dumps(CERTIFICATE))
    others = [resource.inputs for resource in recording.resources if resource.name != "spiderpool-spiderpool"]
    text = json.dumps([others, recording.outputs], default=str)

    assert PRIVATE not in text
    assert base64.b64encode(PRIVATE.encode()).decode() not in text


@pytest.mark.parametrize(
    "content", ["", PRIVATE, f'["{PRIVATE}"]', json.dumps({**CERTIFICATE, "authority": [PRIVATE]})]
)
def test_a_secret_that_is_no_certificate_ends_the_run_by_its_name_and_never_by_its_content(
    kubeconfig: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        with_certificate(kubeconfig, content)

    entry = "authority" if "authority" in content else "certificate"
    assert str(raised.value) == f"the secret webhook-certificate is not set, or no JSON with the text '{entry}'"
    assert "c0ntent" not in "".join(traceback.format_exception(raised.value))
    assert [entry for entry in caplog.records if entry.levelname == "ERROR"] == []
