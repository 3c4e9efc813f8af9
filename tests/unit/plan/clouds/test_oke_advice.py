"""What is said about Oracle's refusals, by the texts that its provider prints, and about machines that do not join."""

import json
from pathlib import Path

import pytest
from planned_fabrics import plan_of
from planned_oke import EVERYTHING, PLACEMENTS, resources_of
from rows import rows

from gpu_fabric.catalog import catalog
from gpu_fabric.plan.clouds.oke.resources import advice_on
from sandbox.engine.event_log import advice_on_errors, advised_afterwards

NETWORK, MANAGED = PLACEMENTS["cluster-network"], PLACEMENTS["compute-cluster"]
SERVICES = "to {COMPUTE_CLUSTER_LAUNCH_INSTANCE} in compartment id ocid1.compartment.oc1..aaaaaaaaexample"


# Name of the resource, and what is said of it -> a part of the advice.
SAID: list[tuple[str, str, str]] = rows(__file__, "said")


@pytest.mark.parametrize(("name", "said", "part"), SAID)
def test_what_oracle_says_is_explained(name: str, said: str, part: str) -> None:
    advice = advice_on(resources_of(*NETWORK), name, f"1 error occurred:\n\t* {said}\nSuggestion: ...")

    assert advice is not None
    assert part in advice.text
    assert "{" not in advice.text.replace("{CLUSTER_JOIN}", "").replace("ALL {instance", "")


def test_every_row_of_the_advice_can_be_reached() -> None:
    addons = resources_of(*EVERYTHING["open"])
    rows = catalog().oke_clusters.advice.refusals
    said = [(resources_of(*NETWORK), name, text) for name, text, _ in SAID]
    imported = resources_of("oke-h100", {"cluster.pools[0].imageUri": "https://objectstorage.x/n/y/b/z/o/image"})
    said.append((imported, "cluster-image-shape-gpu", "the requested compatible shape BM.GPU.H100.8 does not exist"))
    said += [(addons, "cluster-addon-certmanager", text) for text in ADDON]
    found = [advice for planned, name, text in said if (advice := advice_on(planned, name, text))]

    assert {line for advice in found for line in advice.text.splitlines()[1:]} >= {
        f"  - {line}" for row in rows for line in row.do if "{" not in line
    }


ADDON = {
    "409-IncorrectState, the cluster is being updated": 10,
    "409-Conflict, addon CertManager exists": 0,
    "timeout while waiting for add-on CertManager: NEEDS_ATTENTION": 0,
}


@pytest.mark.parametrize(("said", "tries"), ADDON.items())
def test_only_what_passes_by_itself_is_tried_again(said: str, tries: int) -> None:
    advice = advice_on(resources_of(*EVERYTHING["open"]), "cluster-addon-certmanager", said)

    assert advice is not None
    assert advice.tries == tries
    assert "addon-certmanager" in advice.means


def test_what_is_not_known_is_left_to_oracles_own_words() -> None:
    planned = resources_of(*NETWORK)

    assert advice_on(planned, "cluster-vcn", "something new") is None
    assert advice_on(planned, "volcano-volcano", "Out of host capacity.") is None


def test_a_pool_that_may_not_launch_is_told_the_statement_in_full() -> None:
    advice = advice_on(resources_of(*MANAGED), "cluster-pool-gpu", "404-NotAuthorizedOrNotFound")

    assert advice is not None
    assert f"policy oke-h100-26-4-services of the stack says: Allow any-user {SERVICES}" in advice.text


def event(severity: str, name: str, message: str, kind: str = "oci:Core/vcn:Vcn") -> str:
    return json.dumps(
        {"diagnosticEvent": {"severity": severity, "urn": f"urn:OkeCluster${kind}::{name}", "message": message}}
    )


def test_only_a_destroy_at_oracle_is_recorded_and_the_record_goes_away() -> None:
    said: list[str] = []
    planned = resources_of(*NETWORK)
    for verb, resources in (("up", planned), ("preview", planned), ("destroy", None)):
        with advised_afterwards(verb, resources, said.append) as options:
            assert options == []
    with advised_afterwards("destroy", planned, said.append) as options:
        record = Path(options[1])
        record.write_text(event("error", "cluster-vcn", "409-Conflict, in use") + "\n")

    assert not record.parent.exists()
    assert len(said) == 1


def test_a_vpc_at_digitalocean_that_has_members_names_the_cluster_that_may_be_left_behind() -> None:
    planned = plan_of("doks-h200").cluster.doks
    assert planned is not None
    refused = "Error deleting VPC: DELETE https://x/v2/vpcs/y: 409 (request z) Can not delete VPC with members"
    kind = "digitalocean:index/vpc:Vpc"
    events = [event("error", "cluster-vpc", refused, kind), event("error", "cluster-vpc", "500 Server Error", kind)]
    (advice,) = advice_on_errors(planned, events)
    for part in ("cluster doks-h200", "doctl kubernetes cluster delete doks-h200", "gpu-fabric:cluster.adopt.cluster"):
        assert part in advice
    assert advice_on_errors(planned, [event("error", "cluster-doks", refused)]) == []
