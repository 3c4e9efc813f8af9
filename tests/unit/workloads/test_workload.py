"""The contract: a pod written from it gets what the device plug-in hands out, and finds networks and files."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from gpu_fabric.catalog import catalog
from gpu_fabric.contract import FabricContract
from gpu_fabric.contract.cluster import ClusterContract
from gpu_fabric.nccl.topology import Form, topology_xml
from gpu_fabric.plan import Plan
from gpu_fabric.report.pages.schemas import published_schema

PlanWith = Callable[[Any], Plan]
StackPlans = tuple[Plan, ...]
ANNOTATION = "k8s.v1.cni.cncf.io/networks"


@pytest.fixture(params=["flat", "per-rail"])
def plan(request: pytest.FixtureRequest, plan_with: PlanWith) -> Plan:
    """The development stack offered in two namespaces, in both layouts."""
    return plan_with({"fabric.addressing.layout": request.param, "fabric.namespaces": ["default", "jobs"]})


def attached(plan: Plan) -> list[dict[str, str]]:
    request: list[dict[str, str]] = json.loads(plan.workload.annotations[ANNOTATION])
    return request


def test_a_job_requests_what_the_device_plugin_offers_on_a_node(plan: Plan) -> None:
    offered = {
        resource.name: str(len(resource.alternatives[0].root_devices or ()))
        for resource in plan.sriov_plugin.resource_list
    }

    assert plan.workload.resources == {"nvidia.com/gpu": "8", **offered}


def test_the_networks_of_the_annotation_exist_in_every_offered_namespace(plan: Plan) -> None:
    made = {(network.object.metadata.namespace, network.name) for network in plan.applied("networks")}

    for namespace in plan.workload.namespaces:
        assert {(namespace, entry["name"]) for entry in attached(plan)} <= made


def test_flat_no_interface_claims_a_rail_since_any_device_may_come(flat_plan: Plan) -> None:
    assert {network.rail for network in flat_plan.workload.networks} == {None}


def test_every_file_of_the_contract_is_a_key_of_a_config_map_in_every_namespace(plan: Plan) -> None:
    made = {
        (entry.object.metadata.namespace, entry.name, key)
        for entry in plan.applied("nccl")
        for key in entry.object.manifest()["data"]
    }

    assert made == {
        (namespace, file.config_map, file.key) for namespace in ("default", "jobs") for file in plan.workload.files
    }


def test_a_config_maps_name_ends_with_the_hash_of_its_content(plan: Plan) -> None:
    for entry in plan.applied("nccl"):
        manifest = entry.object.manifest()
        (content,) = manifest["data"].values()
        assert entry.name.endswith("-" + hashlib.sha256(content.encode()).hexdigest()[:8])
        assert manifest["immutable"] is True


def test_the_settings_file_says_what_the_environment_says(plan: Plan) -> None:
    content = next(file.content for file in plan.nccl.files if file.key == "nccl.conf")
    written = dict(line.split("=", 1) for line in content.splitlines())

    assert written == {k: v for k, v in plan.workload.environment.items() if k != "NCCL_TOPO_FILE"}
    assert written["NCCL_SOCKET_IFNAME"] == "=eth0"


@pytest.mark.parametrize("shape", ["BM.GPU4.8", "BM.GPU.A100-v2.8", "BM.GPU.H100.8"])
def test_the_topology_variable_leads_to_the_mounted_file_of_the_shape(plan_with: PlanWith, shape: str) -> None:
    plan = plan_with({"cluster.pools[0].shape": shape})
    known = catalog()
    mounted = {file.mount_path: file for file in plan.nccl.files}
    file = mounted[plan.workload.environment["NCCL_TOPO_FILE"]]

    # The stack's pods have virtual functions, which NCCL maps to their NICs' own addresses.
    assert file.content == topology_xml(known.shapes[shape], known.topologies[shape], Form.LEAN)


def test_the_patch_repeats_the_contract_for_the_container_named_worker(plan: Plan) -> None:
    job, patch = plan.workload, plan.workload.pod_template_patch
    spec: Any = patch["spec"]
    (worker,) = spec["containers"]

    assert patch["metadata"] == {"annotations": job.annotations}
    assert worker["name"] == "worker"
    assert worker["resources"] == {"limits": job.resources, "requests": job.resources}
    assert {entry["name"]: entry["value"] for entry in worker["env"]} == job.environment
    assert worker["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert spec["nodeSelector"] == {"node.kubernetes.io/instance-type": "BM.GPU.H100.8"}
    assert spec["tolerations"] == [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}]


def test_every_mount_of_the_patch_has_its_volume(plan: Plan) -> None:
    spec: Any = plan.workload.pod_template_patch["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    mounts = {mount["mountPath"]: mount for mount in spec["containers"][0]["volumeMounts"]}

    assert len(volumes) == len(spec["volumes"]) == len(mounts)
    assert volumes[mounts["/dev/shm"]["name"]]["emptyDir"] == {"medium": "Memory", "sizeLimit": "32Gi"}
    for file in plan.workload.files:
        mount = mounts[file.mount_path]
        assert mount["subPath"] == file.key
        assert volumes[mount["name"]]["configMap"] == {"name": file.config_map}
    assert all(len(name) <= 63 for name in volumes)


def test_jobs_select_nodes_by_shape_and_by_the_labels_that_all_pools_share(plan_with: PlanWith) -> None:
    labels = [{"team": "vision", "row": row} for row in ("1", "2", "1")]
    pools = [{"name": f"p{k}", "shape": "BM.GPU.H100.8", "nodes": 1, "labels": found} for k, found in enumerate(labels)]
    plan = plan_with({"cluster.pools": pools})

    assert plan.workload.node_selector == {"node.kubernetes.io/instance-type": "BM.GPU.H100.8", "team": "vision"}


def test_a_machine_type_that_the_stack_states_itself_is_the_one_that_jobs_select(plan_with: PlanWith) -> None:
    labels = {"node.kubernetes.io/instance-type": "h100-by-another-name"}

    assert plan_with({"cluster.pools[0].labels": labels}).workload.node_selector == labels


def test_a_pod_on_the_hosts_network_attaches_nothing_and_says_so(stack_plans: StackPlans) -> None:
    job = next(plan.workload for plan in stack_plans if plan.choices.model == "host-network")
    patch: Any = job.pod_template_patch

    assert (job.host_network, job.networks, job.annotations) == (True, (), {})
    assert job.resources == {"nvidia.com/gpu": "8"}
    assert (patch["spec"]["hostNetwork"], patch["spec"]["dnsPolicy"]) == (True, "ClusterFirstWithHostNet")
    assert patch["metadata"] == {"annotations": {}}


def test_a_pod_on_the_hosts_network_reaches_the_devices_that_no_plugin_brings(stack_plans: StackPlans) -> None:
    job = next(plan.workload for plan in stack_plans if plan.choices.model == "host-network")
    spec: Any = job.pod_template_patch["spec"]
    (worker,) = spec["containers"]

    assert {"name": "rdma-devices", "hostPath": {"path": "/dev/infiniband"}} in spec["volumes"]
    assert {"name": "rdma-devices", "mountPath": "/dev/infiniband"} in worker["volumeMounts"]
    assert job.privileged
    assert worker["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}, "privileged": True}


def _closed(schema: Any) -> Any:
    """A schema that takes no other fields, so that one which is missing from it is found."""
    if isinstance(schema, list):
        return [_closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(part) for key, part in schema.items()}
    return {**closed, "additionalProperties": False} if "properties" in schema else closed


@pytest.mark.parametrize(("model", "name"), [(FabricContract, "contract"), (ClusterContract, "cluster")])
def test_a_published_schema_is_open_to_added_fields_and_knows_no_nulls(model: Any, name: str) -> None:
    schema = published_schema(model, name)
    text = json.dumps(schema)

    assert (schema["$schema"].rpartition("/")[2], schema["$id"]) == ("schema", f"urn:gpu-fabric:{name}:v1")
    assert "schemaVersion" in schema["required"]
    assert '"additionalProperties": false' not in text
    assert '"null"' not in text
    assert '"default": null' not in text
    jsonschema.Draft202012Validator.check_schema(schema)


def test_every_output_has_no_field_that_the_schema_lacks_and_all_that_it_requires(stack_plans: StackPlans) -> None:
    published = published_schema(FabricContract, "contract")
    closed, schema = (jsonschema.Draft202012Validator(one) for one in (_closed(published), published))
    for plan in stack_plans:
        output = plan.workload.model_dump(mode="json", by_alias=True, exclude_none=True)
        closed.validate(output)
        schema.validate({**output, "addedLater": 1})
        # GPUs that come with a claim are not among the resources of the container.
        claimed = max((claim["gpus"] for claim in output.get("claims", ())), default=0)
        assert int(output["resources"].get(output["gpuResource"], 0)) + claimed == output["gpusPerNode"]
        amounts = Counter[str]()
        for network in output["networks"]:
            if "resource" in network:
                amounts[network["resource"]] += network["amount"]
        assert {name: int(output["resources"][name]) for name in amounts} == amounts
