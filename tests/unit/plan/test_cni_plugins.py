"""CNI plug-ins that no operator brings: that networks call them. The rest is in rows/daemons.yaml."""

from __future__ import annotations

from typing import Any

from planned_fabrics import plan_of

from gpu_fabric.plan import Plan


def daemon_set(plan: Plan) -> dict[str, Any]:
    (planned,) = plan.applied("cni-plugins")
    return planned.object.manifest()


def pods(plan: Plan) -> dict[str, Any]:
    found: dict[str, Any] = daemon_set(plan)["spec"]["template"]["spec"]
    return found


def test_every_plug_in_that_is_brought_is_called_and_every_one_that_lacks_is_brought() -> None:
    plan = plan_of("oke-h100-26-4")
    chain = plan.applied("networks")[0].object.manifest()["spec"]["config"]
    brought = [container["name"].removesuffix("-cni") for container in pods(plan)["containers"]]

    assert all(f'"type":"{plugin}"' in chain for plugin in brought)


def test_each_container_finds_the_nodes_plug_in_folder_and_what_system_it_runs() -> None:
    template = pods(plan_of("oke-h100-26-4"))
    paths = {volume["name"]: volume["hostPath"]["path"] for volume in template["volumes"]}

    for container in template["containers"]:
        assert {mount["mountPath"]: paths[mount["name"]] for mount in container["volumeMounts"]} == {
            "/host/opt/cni/bin": "/opt/cni/bin",
            "/host/etc/os-release": "/etc/os-release",
        }
