"""Every policy by itself: what it passes, what it finds, what it leaves alone, and what it says of itself."""

import importlib
import json
import pkgutil
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
from analysed import POLICIES, broken_policies
from each_case import each
from made_resources import made
from policy_cases import CASES, Case
from pulumi_policy import EnforcementLevel, ResourceValidationArgs, ResourceValidationPolicy
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE, UnknownValueError, unknown_checking_proxy
from recording import Registration

import gpu_fabric.k8s
from gpu_fabric.k8s.base import KubernetesObject
from policy.objects import Kinds
from policy.page import table
from policy.reading import is_one_of

PACK = Path(__file__).parents[2] / "policy"
PAGE = Path(__file__).parents[2] / "docs" / "policy.md"


def said(name: str, case: Case, which: str) -> list[str]:
    """What a policy says of the resources of a case."""
    settings = {name: case.settings}
    return broken_policies("mine", getattr(case, which), settings, [name]).get(name, [])


def test_every_policy_has_its_cases_and_there_are_more_than_twenty() -> None:
    assert set(CASES) == set(POLICIES)
    assert len(POLICIES) > 20


@each("name", CASES)
def test_a_bad_resource_is_found_and_named_and_a_good_one_or_none_of_its_business_passes(name: str) -> None:
    [message] = said(name, CASES[name], "bad")

    assert CASES[name].says in message
    assert any(message.startswith(f"{resource.name}: ") for resource in CASES[name].bad)
    assert said(name, CASES[name], "good") == []
    assert said(name, CASES[name], "irrelevant") == []


# What no committed stack has: types, and inputs of types.
IN_NO_STACK = {
    *("oci:Core/instance:Instance", "kubernetes:core/v1:Service", "kubernetes:core/v1:Secret", "maxNodes"),
    *("kubernetes:nv-ipam.nvidia.com/v1:IpPool", "freeformTags"),
}


def test_bad_resources_have_the_types_and_inputs_of_those_that_stacks_register(
    registered: Callable[[str], tuple[Registration, ...]],
) -> None:
    known: dict[str, set[str]] = {}
    for name in chosen_stacks():
        for resource in registered(name):
            known.setdefault(resource.type, set()).update(resource.inputs)
    bad = [resource for case in CASES.values() for resource in case.bad]

    assert {resource.type for resource in bad} - known.keys() <= IN_NO_STACK
    assert {key for resource in bad for key in resource.inputs.keys() - known.get(resource.type, resource.inputs)} <= (
        IN_NO_STACK
    )


def chosen_stacks() -> list[str]:
    """Stacks of every provider and manager, which another test registers as well."""
    return ["dev", "doks-h200", "oke-h100", "oke-h200", "kueue", "spiderpool-sriov"]


@each("name", POLICIES)
def test_a_policy_says_why_what_to_do_and_where_that_is_from(name: str) -> None:
    policy = POLICIES[name]

    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)
    assert re.fullmatch(r"[A-Z`].+\. Why: .+\. Remedy: .+\. Source: .+\.", policy.description)
    assert policy.remediation_steps is not None
    assert policy.remediation_steps in policy.description
    assert policy.enforcement_level in (EnforcementLevel.MANDATORY, EnforcementLevel.ADVISORY)


@each("name", [name for name, policy in POLICIES.items() if policy.config_schema])
def test_settings_have_a_json_schema_with_a_description_and_a_default_each(name: str) -> None:
    schema = POLICIES[name].config_schema
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema({"type": "object", "properties": schema.properties})
    assert all({"description", "default"} <= set(entry) for entry in schema.properties.values())
    jsonschema.validate(CASES[name].settings, {"properties": schema.properties, "additionalProperties": False})


def test_a_credential_is_not_repeated_in_the_message() -> None:
    secret = "nvapi-0123456789abcdefghij0123456789"
    found = broken_policies("mine", [made("kubernetes:core/v1:ConfigMap", {"data": {"key": secret}})])

    assert secret not in str(found)
    assert "no-credentials-in-objects" in found


def test_what_a_preview_cannot_know_is_not_guessed() -> None:
    """The SDK reports its own error as an advice; what is known beside is still searched for credentials."""
    policy, search = POLICIES["exact-chart-versions"], POLICIES["no-credentials-in-objects"]
    assert isinstance(policy, ResourceValidationPolicy)
    assert isinstance(search, ResourceValidationPolicy)
    inputs = {"version": UNKNOWN_STRING_VALUE, "values": {"token": "nvapi-0123456789abcdefghij0123456789"}}
    release = made("kubernetes:helm.sh/v3:Release")
    args = ResourceValidationArgs(
        release.type,
        unknown_checking_proxy(inputs),
        "urn",
        "it",
        None,
        None,  # type: ignore[arg-type]
    )
    found: list[str] = []

    with pytest.raises(UnknownValueError):
        policy.validate(args, lambda message, _urn: found.append(message))
    assert found == []
    search.validate(args, lambda message, _urn: found.append(message))
    assert found == ["it: values.token holds what looks like a credential"]


def test_ranges_that_a_cloud_chooses_do_not_keep_the_others_from_being_compared() -> None:
    cluster = "oci:ContainerEngine/cluster:Cluster"
    ranges = {"podsCidr": UNKNOWN_STRING_VALUE, "servicesCidr": "10.96.0.0/16"}
    pool = made("kubernetes:nv-ipam.nvidia.com/v1alpha1:IPPool", {"spec": {"subnet": "10.96.16.0/20"}})
    resources = [made(cluster, {"options": {"kubernetesNetworkConfig": ranges}}), pool]

    [found] = broken_policies("mine", resources, asked=["disjoint-addresses"])["disjoint-addresses"]
    assert "overlaps 10.96.0.0/16 of servicesCidr" in found


WRITTEN = {
    "nv-ipam.nvidia.com/v1alpha1:IPPool": {"spec": {"subnet": "10.0.16.0/20"}},
    "nv-ipam.nvidia.com/v1alpha1:CIDRPool": {"spec": {"cidr": "10.0.16.0/20"}},
    "spiderpool.spidernet.io/v2beta1:SpiderIPPool": {"spec": {"subnet": "10.0.0.0/8", "ips": ["10.0.0.9-10.0.0.12"]}},
    "k8s.cni.cncf.io/v1:NetworkAttachmentDefinition": {
        "spec": {"config": '{"plugins":[{"type":"macvlan","ipam":{"type":"whereabouts","range":"10.0.16.0/20"}}]}'}
    },
    "gpu-fabric:KeptObjects": {"objects": {"SpiderIPPool": {"rail-00": {"spec": {"ips": ["10.0.0.9-10.0.0.12"]}}}}},
}


@pytest.mark.parametrize("kind", WRITTEN)
def test_addresses_are_compared_wherever_a_stack_writes_them(kind: str) -> None:
    network = made("oci:Core/vcn:Vcn", {"cidrBlocks": ["10.0.0.0/16"]})
    pool = made(f"kubernetes:{kind}", WRITTEN[kind])

    [found] = broken_policies("mine", [network, pool], asked=["disjoint-addresses"])["disjoint-addresses"]
    assert "10.0.0.0/16 of Vcn" in found


def test_the_pages_example_says_of_the_stack_what_the_page_says(
    registered: Callable[[str], tuple[Registration, ...]],
) -> None:
    (example,) = re.findall(r"```json\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    settings = {
        name: {key: value for key, value in entry.items() if key != "enforcementLevel"}
        for name, entry in json.loads(example).items()
    }

    assert set(broken_policies("doks-h200", registered("doks-h200"), settings)) == {
        "required-tags",
        "protected-clusters",
        "api-server-access",
        "pinned-images",
        "allowed-registries",
    }


def test_only_the_pack_file_makes_a_pack() -> None:
    """Making one starts a server that never ends; a module that does cannot be imported."""
    makers = [path.name for path in PACK.rglob("*.py") if "PolicyPack(" in path.read_text(encoding="utf-8")]

    assert makers == ["serving.py"]


def test_the_table_on_the_page_is_that_of_the_policies() -> None:
    """`python -m policy.page` prints it."""
    assert table() in PAGE.read_text(encoding="utf-8")


def test_every_kind_that_the_program_writes_is_known() -> None:
    for module in pkgutil.iter_modules(gpu_fabric.k8s.__path__, "gpu_fabric.k8s."):
        importlib.import_module(module.name)
    written, found = list(KubernetesObject.__subclasses__()), set[str]()
    while written:
        model = written.pop()
        written += model.__subclasses__()
        if model.__module__.startswith("gpu_fabric.k8s."):
            found.add(f"{model.group() or 'core'}/{model.kind}")

    assert len(found) > 30
    assert {name for name in found if not is_one_of(name, Kinds().kinds)} == set()
