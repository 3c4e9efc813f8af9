"""The contract in the form of other systems: each gives its pods what `podTemplatePatch` gives a pod."""

from typing import Any

import pytest
import yaml
from attached_pods import at, contract_of
from command_line import result_of, run
from rows import rows

from gpu_fabric.contract.consumer import Consumer, consumer_form
from gpu_fabric.contract.fabric import read_contract

FORMS = rows(__file__, "forms")
STACKS = ("dev", "oke-h200", "dranet-oke", "host-network", "sriov-dpdk", "spiderpool-macvlan")
OF_PODS = ("nodeSelector", "tolerations", "resourceClaims")


def found(form: dict[str, Any], path: str) -> Any:
    """What a form has at a path; None where it has no part of it."""
    try:
        return at(form, path)
    except (KeyError, IndexError):
        return None


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("name", FORMS)
def test_the_pods_of_a_consumer_get_what_a_pod_with_the_patch_gets(name: str, stack: str) -> None:
    row, contract = FORMS[name], contract_of(stack)
    patch: Any = contract.pod_template_patch
    (container,) = patch["spec"]["containers"]
    gpus = {contract.gpu_resource} if "gpus" in row["leaves"] else set()
    shared = {"shared-memory"} if "shared memory" in row["leaves"] else set()

    form = consumer_form(Consumer(name.partition(",")[0]), contract).form

    spec, own = found(form, row["spec"]), found(form, row["container"])
    network = found(form, row["network"]) or {} if "network" in row else spec
    assert (found(form, row["annotations"]) or {}) == patch["metadata"]["annotations"]
    assert {key: spec.get(key) for key in OF_PODS} == {key: patch["spec"].get(key) or None for key in OF_PODS}
    assert network.get("hostNetwork") == patch["spec"].get("hostNetwork")
    wanted = {name: amount for name, amount in contract.resources.items() if name not in gpus}
    resources = own.get("resources", {})
    assert resources.get("limits", {}) == resources.get("requests", {}) == wanted
    if "claims of the container" not in row["leaves"]:
        assert resources.get("claims") == container["resources"].get("claims")
    assert own["env"] == container["env"]
    mounts = [mount for mount in container["volumeMounts"] if mount["name"] not in shared]
    assert own.get("volumeMounts", []) == mounts
    assert {volume["name"] for volume in spec.get("volumes", [])} == {mount["name"] for mount in mounts}
    if "security" not in row["leaves"]:
        security = found(form, row["security"]) if "security" in row else own["securityContext"]
        assert security == container["securityContext"]


@pytest.mark.parametrize("consumer", Consumer)
def test_a_form_is_printed_as_yaml_with_what_a_reader_must_know_and_its_source(consumer: Consumer) -> None:
    text = result_of("contract", "--for", consumer.value, "-s", "oke-h200", "--library", "none")
    form = consumer_form(consumer, contract_of("oke-h200"))

    comment = [line for line in text.splitlines() if line.startswith("#")]
    assert comment[0].startswith(f"# The fabric of stack oke-h200 for {form.title}: for ")
    assert form.source.partition(" ")[0] in " ".join(comment)
    assert yaml.safe_load(text) == form.form
    assert "{" not in " ".join(form.notes)


def test_a_queue_and_shared_memory_are_where_the_consumer_has_a_field_for_them() -> None:
    contract = contract_of("oke-h200")

    of_context: Any = consumer_form(Consumer.SKYPILOT, contract).form
    component: Any = consumer_form(Consumer.DYNAMO, contract).form
    assert of_context["kubernetes"]["context_configs"]["CONTEXT"]["kueue"] == {"local_queue_name": "fabric"}
    assert component["spec"]["components"][0]["sharedMemorySize"] == contract.shared_memory.size_limit


@pytest.mark.parametrize(
    ("asked", "has", "lacks"),
    [
        ((), ["UCX_IB_GID_INDEX", "UCX_TLS"], ["MC_GID_INDEX"]),
        (("--library", "mooncake"), ["MC_GID_INDEX"], ["UCX_TLS"]),
        (("--library", "none"), ["NCCL_IB_HCA"], ["UCX_TLS", "MC_GID_INDEX"]),
    ],
)
def test_servers_of_models_get_the_settings_of_nixl_or_of_the_library_that_is_named(
    asked: tuple[str, ...], has: list[str], lacks: list[str]
) -> None:
    for consumer in (Consumer.DYNAMO, Consumer.LLM_D, Consumer.KSERVE):
        text = result_of("contract", "--for", consumer.value, "-s", "oke-h200", *asked)
        assert all(f"name: {name}\n" in text for name in has)
        assert not any(f"name: {name}\n" in text for name in lacks)
    assert "name: UCX_" not in result_of("contract", "--for", "slinky", "-s", "oke-h200")


@pytest.mark.parametrize(
    ("asked", "template", "says"),
    [
        ((), "rack-a-channel", "have the channel of rack-a and run in this rack; --rack takes rack-b or none as well."),
        (("--rack", "rack-b"), "rack-b-channel", "channel of rack-b and run in this rack; --rack takes rack-a or none"),
        (("--rack", "none"), None, "use the rails, without NVLink between nodes; --rack takes rack-a or rack-b."),
    ],
)
def test_pods_have_the_channel_of_one_rack_and_a_reader_is_told_which(
    asked: tuple[str, ...], template: str | None, says: str
) -> None:
    text = result_of("contract", "--for", "kserve", "-s", "domains", *asked)
    spec = yaml.safe_load(text)["spec"]["template"]
    (container,) = spec["containers"]

    assert says in " ".join(line.removeprefix("#").strip() for line in text.splitlines() if line.startswith("#"))
    assert [entry["resourceClaimTemplateName"] for entry in spec.get("resourceClaims", [])] == [template][
        : bool(template)
    ]
    assert {"name": "NCCL_MNNVL_ENABLE", "value": "1" if template else "0"} in container["env"]
    rack = spec["nodeSelector"].get("example.com/rack")
    assert rack == (template and template.removeprefix("rack-").removesuffix("-channel"))


def test_a_rack_that_the_stack_does_not_have_is_refused() -> None:
    refused = run("contract", "--for", "kserve", "-s", "domains", "--rack", "rack-c")

    assert refused.exit_code == 2
    assert "the stack has no rack rack-c with NVLink between its nodes; write rack-a, rack-b, none" in refused.stderr
    assert run("contract", "--for", "kserve", "-s", "dev", "--rack", "rack-a").exit_code == 2
    assert run("contract", "-s", "domains", "--rack", "rack-a").exit_code == 2


def test_a_library_that_is_not_known_is_refused_in_one_message() -> None:
    ended = run("contract", "--for", "kserve", "-s", "dev", "--library", "nixel", "--library", "ucks")

    assert ended.exit_code == 2
    assert ended.output.count("error ATT037") == 2
    assert run("contract", "-s", "dev", "--library", "nixl").exit_code == 2


def test_the_contract_itself_is_printed_as_it_is_read() -> None:
    assert read_contract(result_of("contract", "-s", "dev")) == contract_of("dev")
