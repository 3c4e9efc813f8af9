"""The pack over the analyzer's own protocol: started by its path, configured and asked as the engine does it."""

from collections.abc import Callable, Iterator

import grpc
import pytest
from analysed import POLICIES
from analyzer import Analyzer
from google.protobuf import json_format
from made_resources import made, with_input
from pulumi.runtime.proto import analyzer_pb2
from pulumi_policy.proxy import UNKNOWN_STRING_VALUE
from recording import Registration

import policy

Registered = Callable[[str], tuple[Registration, ...]]
DOKS = "digitalocean:index/kubernetesCluster:KubernetesCluster"


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Analyzer]:
    running = Analyzer(tmp_path_factory.mktemp("elsewhere"))
    yield running
    running.close()


@pytest.fixture
def pack(process: Analyzer) -> Analyzer:
    """The running pack, with the settings that it comes with."""
    process.configure({}, {})
    return process


def levels(found: list[analyzer_pb2.AnalyzeDiagnostic]) -> dict[str, str]:
    return {said.policyName: analyzer_pb2.EnforcementLevel.Name(said.enforcementLevel) for said in found}


def test_the_pack_tells_the_engine_of_all_policies_and_their_settings(pack: Analyzer) -> None:
    told = {policy.name: policy for policy in pack.info().policies}

    assert set(told) == set(POLICIES)
    assert (pack.info().name, pack.info().version) == ("gpu-fabric", policy.__version__)
    assert pack.info().supportsConfig
    assert all(" Why: " in policy.description for policy in told.values())
    regions = json_format.MessageToDict(told["allowed-regions"].configSchema.properties)["regions"]
    assert (regions["type"], regions["items"], regions["default"]) == ("array", {"type": "string"}, [])


@pytest.mark.parametrize("stack", ["dev", "doks-h200", "oke-h200", "spiderpool-sriov"])
def test_a_committed_stack_passes(pack: Analyzer, registered: Registered, stack: str) -> None:
    assert pack.of_stack(stack, registered(stack)) == []


def test_a_mistake_in_one_resource_stops_the_run_and_names_it(pack: Analyzer, registered: Registered) -> None:
    wrong = with_input("Release", "version", "26.x")(list(registered("dev")))
    [found] = pack.of_stack("dev", wrong)

    assert levels([found]) == {"exact-chart-versions": "MANDATORY"}
    assert found.policyPackName == "gpu-fabric"
    assert "gpu-operator-gpu-operator: version 26.x is not exact" in found.message
    assert "Remedy: write the version in full." in found.message


def test_a_mistake_in_the_whole_stack_names_the_resource_that_has_it(pack: Analyzer, registered: Registered) -> None:
    pool = "ip-pools-rail-01-nvidia-network-operator"
    wrong = with_input(pool, "spec|subnet", "192.168.0.0/20")(list(registered("dev")))
    [found] = pack.of_stack("dev", wrong)

    assert levels([found]) == {"disjoint-addresses": "MANDATORY"}
    assert found.urn.endswith(f"::{pool}")


def test_levels_and_settings_are_the_owners(pack: Analyzer) -> None:
    cluster = made(DOKS, {"version": "latest", "region": "atl1", "autoUpgrade": True}, timeouts={"create": "90m"})
    assert levels(pack.of_one("mine", cluster)) == {
        "exact-kubernetes-version": "MANDATORY",
        "no-upgrade-by-itself": "MANDATORY",
    }

    pack.configure(
        {"exact-kubernetes-version": "DISABLED", "no-upgrade-by-itself": "ADVISORY", "allowed-regions": "MANDATORY"},
        {"allowed-regions": {"regions": ["nyc*"]}},
    )
    assert levels(pack.of_one("mine", cluster)) == {"no-upgrade-by-itself": "ADVISORY", "allowed-regions": "MANDATORY"}


def test_numbers_in_settings_arrive_as_they_were_written(pack: Analyzer) -> None:
    """The protocol knows no whole numbers."""
    cluster = made(DOKS, {"version": "1.36.1-do.0"}, timeouts={"create": "90m"})
    pack.configure({"time-for-bare-metal": "MANDATORY"}, {"time-for-bare-metal": {"leastMinutes": 120}})

    [found] = pack.of_one("mine", cluster)
    assert "may take 90 minutes, fewer than 120" in found.message


def test_a_misspelt_setting_stops_the_run(pack: Analyzer) -> None:
    pack.configure({"allowed-regions": "MANDATORY"}, {"allowed-regions": {"region": ["nyc*"]}})

    with pytest.raises(grpc.RpcError, match="region"):
        pack.of_one("mine", made(DOKS, {"version": "1.36.1-do.0", "region": "nyc2"}, timeouts={"create": "90m"}))


def test_what_a_preview_cannot_know_is_said_as_an_advice(pack: Analyzer) -> None:
    cluster = made(DOKS, {"version": UNKNOWN_STRING_VALUE}, timeouts={"create": "90m"})
    [found] = pack.of_one("mine", cluster)

    assert levels([found]) == {"exact-kubernetes-version": "ADVISORY"}
    assert "can't be known during preview" in found.message
