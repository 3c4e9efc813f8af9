"""Stacks on clusters that have NVIDIA's operators, installed by hand: what was there before is there afterwards."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from doctoring import exists
from driver import POLICY, Sandbox, until
from lived_in import MULTUS, MULTUS_POLICY, assert_as_before, nvidia_operators, settled, write_policy
from pulumi.dynamic import ConfigureRequest
from stack_plans import stack_plan
from test_models import assert_a_job_runs

from components.adopted_sections import AdoptedSectionsProvider
from gpu_fabric.plan.records import PlannedAdoption
from gpu_fabric.render.folder import write_files
from gpu_fabric.render.gitops.adoption import fragments
from gpu_fabric.render.gitops.files import gitops_files
from gpu_fabric.render.gitops.place import Place
from gpu_fabric.resources.dynamic import adoption_resource
from sandbox.home import project_root

STACK, RAIL = "existing-operators", "nvidia.com/rail_00"
POOLS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/cidrpools.nv-ipam.nvidia.com"
THEIRS = {"networkOperator": {"install": False, "policy": "theirs"}}


@pytest.fixture(scope="module")
def there(cluster: Sandbox) -> Sandbox:
    """A cluster of the stack's nodes, on which somebody installed both operators and wrote a policy."""
    sandbox = cluster.trying(STACK)
    sandbox.run("up", *sandbox.options)
    nvidia_operators(sandbox)
    return sandbox


def whole_policy() -> dict[str, Any]:
    """The sections that the stack would add, beside Multus, as somebody wrote them."""
    (planned,) = stack_plan(STACK, project_root()).records(PlannedAdoption)
    spec = json.loads(json.dumps(planned.spec))
    return {**spec, "secondaryNetwork": {**spec["secondaryNetwork"], "multus": MULTUS}}


def adopting(sandbox: Sandbox) -> tuple[AdoptedSectionsProvider, dict[str, str]]:
    """The program's own provider, and how it reaches the cluster."""
    provider = AdoptedSectionsProvider()
    provider.configure(ConfigureRequest(config={}))
    return provider, {"kubeconfig": sandbox.home.kubeconfig.read_text(encoding="utf-8"), "cluster": "the one"}


def test_an_adopted_policy_carries_the_fabric_and_is_afterwards_as_it_was(there: Sandbox) -> None:
    before = settled(there.api)
    there.run("pulumi", "up", *there.options)
    sections = there.api.get(POLICY)["spec"]
    assert sections.keys() == {"nvIpam", "secondaryNetwork", "sriovDevicePlugin"}
    assert sections["secondaryNetwork"]["multus"] == MULTUS
    assert_a_job_runs(there, RAIL, 1)

    assert f"{there.counted} unchanged" in there.run("pulumi", "up", *there.options)

    there.run("pulumi", "destroy", *there.options)
    until(lambda: there.allocatable(RAIL) == {}, "no node offers the rails any more")
    assert_as_before(before, there.api)


def test_a_section_of_another_value_is_reported_and_nothing_is_registered(there: Sandbox) -> None:
    ipam = {"image": "nvidia-k8s-ipam", "repository": "mirror.example", "version": "v0.1"}
    write_policy(there, {**MULTUS_POLICY, "nvIpam": ipam})
    until(lambda: exists(there, POOLS), "the operator has installed nv-ipam")
    before = settled(there.api)

    printed = there.run("pulumi", "up", *there.options, status=1)

    assert "spec.nvIpam.version: it is v0.1, and the plan has network-operator-v26.4.1" in printed
    assert "write policy: theirs" in printed
    assert_as_before(before, there.api)


def test_a_stack_on_a_foreign_policy_leaves_everything_as_it_was(there: Sandbox) -> None:
    write_policy(there, whole_policy())
    until(lambda: len(there.allocatable(RAIL)) == 2, "the nodes offer the rails")
    before = settled(there.api)

    there.up_with(software=THEIRS)
    policy = there.api.get(POLICY)
    assert {entry["manager"] for entry in policy["metadata"]["managedFields"] if "subresource" not in entry} == {
        "kubectl-create"
    }
    assert_a_job_runs(there, RAIL, 1)
    made = there.counted
    there.up_with(software=THEIRS)
    assert there.counted == made

    there.run("pulumi", "destroy", *there.options)
    assert_as_before(before, there.api)


def test_a_section_that_is_not_wanted_any_more_is_taken_out_and_others_stay(there: Sandbox) -> None:
    write_policy(there, MULTUS_POLICY)
    before = settled(there.api)
    (planned,) = stack_plan(STACK, project_root()).records(PlannedAdoption)
    provider, access = adopting(there)

    def sent(*sections: str) -> dict[str, Any]:
        chosen = planned.model_copy(update={"spec": {name: planned.spec[name] for name in sections}})
        return {**adoption_resource("nic-policies", chosen, "gpu-fabric/test", None).properties, **access}

    made = provider.create(sent("secondaryNetwork", "sriovDevicePlugin"))
    changed = provider.update(made.id, made.outs or {}, sent("sriovDevicePlugin"))
    spec = there.api.get(POLICY)["spec"]
    assert spec.keys() == {"secondaryNetwork", "sriovDevicePlugin"}
    assert spec["secondaryNetwork"] == MULTUS_POLICY["secondaryNetwork"]

    provider.delete(made.id, changed.outs or {})
    assert_as_before(before, there.api)


def test_the_file_for_gitops_adds_what_up_adds_and_its_commands_take_it_out_again(
    there: Sandbox, tmp_path: Path
) -> None:
    write_policy(there, MULTUS_POLICY)
    before = settled(there.api)
    plan = stack_plan(STACK, project_root())
    (fragment,), (planned,) = fragments(plan), plan.records(PlannedAdoption)
    write_files(tmp_path / "out", gitops_files(plan, "flux", Place(stack=STACK, repository=None, path="out")))

    def kubectl(command: str) -> None:
        path = f"{there.home.bin}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "KUBECONFIG": str(there.home.kubeconfig)}
        subprocess.run(["bash", "-c", command], cwd=tmp_path / "out", env=environment, check=True)

    kubectl(fragment.command)
    by_file = there.api.get(POLICY)["spec"]
    kubectl(fragment.undone)
    assert_as_before(before, there.api)

    provider, access = adopting(there)
    made = provider.create({**adoption_resource("p", planned, "gpu-fabric/test", None).properties, **access})
    assert by_file == there.api.get(POLICY)["spec"]
    assert by_file.keys() > MULTUS_POLICY.keys()
    provider.delete(made.id, made.outs or {})
