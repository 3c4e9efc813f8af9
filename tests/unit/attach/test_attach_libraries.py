"""Libraries other than NCCL: what a workload gets of them, what is kept, and what the stamp remembers."""

from typing import Any

import pytest
from attached_pods import contract_of

from gpu_fabric.attach.attachment import Attached, AttachOptions, attach, detach
from gpu_fabric.attach.libraries import used_libraries, with_used
from gpu_fabric.catalog import catalog
from gpu_fabric.contract import FabricContract

DEV, ON_HOST = contract_of("dev"), contract_of("host-network")
NIXL = ["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']


def pod(env: dict[str, str] | None = None, **container: Any) -> dict[str, Any]:
    variables = [{"name": name, "value": value} for name, value in (env or {}).items()]
    asked = {"name": "main", "image": "registry.example/serve:7", "resources": {"limits": {"nvidia.com/gpu": 8}}}
    main = {**asked, **({"env": variables} if variables else {}), **container}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}, "spec": {"containers": [main]}}


def attached(document: Any, *libraries: str, contract: FabricContract = DEV) -> Attached:
    return attach([document], contract, AttachOptions(libraries=libraries, stamped=True))


def environment(result: Attached) -> dict[str, str]:
    return {entry["name"]: entry["value"] for entry in result.documents[0]["spec"]["containers"][0]["env"]}


@pytest.mark.parametrize(
    ("library", "others"),
    [("ucx", ()), ("nixl", ("ucx", "gloo")), ("deepep", ("nvshmem", "gloo")), ("mooncake", ("gloo",))],
)
def test_a_workload_gets_the_settings_of_the_named_library_and_of_those_it_sends_over(
    library: str, others: tuple[str, ...]
) -> None:
    nccl = environment(attached(pod(), "none", contract=ON_HOST))
    found = environment(attached(pod(), library, contract=ON_HOST))
    of_libraries = [ON_HOST.libraries[name] for name in (library, *others)]

    assert found == nccl | {name: value for variables in of_libraries for name, value in variables.items()}


def test_without_a_sign_of_a_library_a_workload_gets_nccls_settings_alone() -> None:
    assert environment(attached(pod())) == DEV.environment


def test_what_the_user_sets_stays_and_is_said() -> None:
    result = attached(pod({"UCX_TLS": "rc_x,cuda,sm,self"}, args=NIXL))

    assert environment(result)["UCX_TLS"] == "rc_x,cuda,sm,self"
    (kept,) = [note for note in result.notes if note.id == "ATT051"]
    assert kept.message == "UCX_TLS keeps 'rc_x,cuda,sm,self'; the fabric's value is 'rc,cuda_copy,cuda_ipc,sm,self'"


def test_no_list_is_added_that_would_have_the_users_own_ignored() -> None:
    mapping = {"NVSHMEM_HCA_PE_MAPPING": ",".join(f"mlx5_{number}:1:1" for number in range(8))}

    assert "NVSHMEM_HCA_LIST" in environment(attached(pod(), "nvshmem", contract=ON_HOST))
    assert "NVSHMEM_HCA_LIST" not in environment(attached(pod(mapping), "nvshmem", contract=ON_HOST))


def test_the_choice_of_libraries_is_remembered_and_changed_and_all_of_it_is_removed() -> None:
    first = attached(pod(args=NIXL), "mooncake")
    again = attached(first.documents[0])
    other = attached(first.documents[0], "none")

    assert environment(first).items() >= DEV.libraries["mooncake"].items()
    assert "UCX_TLS" not in environment(first)
    assert again.documents == first.documents
    assert environment(other) == DEV.environment
    assert detach(other.documents) == detach(first.documents) == (pod(args=NIXL),)


def test_a_contract_of_an_older_program_is_said_to_have_none() -> None:
    older = DEV.model_copy(update={"libraries": {}})
    (note,) = [note for note in attached(pod(args=NIXL), contract=older).notes if note.id == "ATT077"]

    assert "the contract has no settings of libraries: print it again" in note.message


def test_each_library_of_the_catalog_is_known_to_attach_with_those_that_it_sends_over() -> None:
    assert [row.name for row in used_libraries()] == list(catalog().libraries.by_name)
    assert {name for row in used_libraries() for name in row.uses} <= catalog().libraries.by_name.keys()
    assert with_used(["deepep", "nixl"]) == ("ucx", "nixl", "nvshmem", "deepep", "gloo")
