"""Claims: every kind of pod gets the fabric's claim, once, and keeps its own."""

from typing import Any

import pytest
from attached_pods import EXPECTED, as_template, at, contract_of, documents_of, text_of

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.attach.text.manifests import attach_text

CLAIM = {"name": "fabric", "resourceClaimTemplateName": "fabric-node"}
POD: dict[str, Any] = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one"}}
MAIN = AttachOptions(("main",))


def pod(*claims: dict[str, str], taken: tuple[str, ...] = (), limits: dict[str, Any] | None = None) -> dict[str, Any]:
    """A pod with claims of its own, of which its container takes some."""
    resources: dict[str, Any] = {} if limits is None else {"limits": limits}
    resources |= {"claims": [{"name": name} for name in taken]} if taken else {}
    spec = {"containers": [{"name": "main", "image": "a", "resources": resources}]}
    return {**POD, "spec": {**spec, "resourceClaims": list(claims)} if claims else spec}


def attached(document: dict[str, Any], stack: str, options: AttachOptions = MAIN) -> tuple[list[Any], list[Any], Any]:
    """The claims of the pod and of its container, and what the container asks for."""
    spec = attach([document], contract_of(stack), options).documents[0]["spec"]
    resources = spec["containers"][0]["resources"]
    return spec["resourceClaims"], resources["claims"], resources.get("limits")


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_pod_of_any_kind_claims_a_node_once(name: str) -> None:
    text = attach_text(text_of(name), contract_of("dranet"), AttachOptions(stamped=True)).text
    document = documents_of(text)[EXPECTED[name].document]

    for path, container in EXPECTED[name].attached.items():
        spec = as_template(at(document, path))["spec"]
        own = next(entry for entry in spec["containers"] if entry["name"] == container)
        assert spec["resourceClaims"] == [CLAIM]
        assert own["resources"]["claims"] == [{"name": "fabric"}]


def test_a_pod_that_has_the_claim_by_another_name_gets_no_second() -> None:
    claim = {"name": "nics", "resourceClaimTemplateName": "fabric-node"}

    assert attached(pod(claim, taken=("nics",), limits={"nvidia.com/gpu": 8}), "dranet")[:2] == (
        [claim],
        [{"name": "nics"}],
    )


def test_a_claim_of_the_users_own_stays_beside_the_fabrics() -> None:
    claims, taken, _ = attached(pod({"name": "disk", "resourceClaimName": "d"}, taken=("disk",)), "dranet")

    assert [claim["name"] for claim in claims] == ["disk", "fabric"]
    assert taken == [{"name": "disk"}, {"name": "fabric"}]


def test_gpus_that_come_with_the_claim_are_not_requested() -> None:
    claims, _, limits = attached(pod(), "dranet-infiniband")

    assert claims == [CLAIM]
    assert limits is None or not [name for name in limits if "gpu" in name]


def test_a_size_that_was_chosen_stays() -> None:
    first = attach([pod()], contract_of("dranet-infiniband"), AttachOptions(("main",), stamped=True, claim="pair"))
    again = attach(first.documents, contract_of("dranet-infiniband"), AttachOptions(("main",)))

    assert first.documents[0]["spec"]["resourceClaims"][0]["resourceClaimTemplateName"] == "fabric-pair"
    assert again.documents == first.documents
