"""The network of Oracle's simulated cloud, as a stack meets it."""

from __future__ import annotations

from typing import Any

import pytest
from cloud_engine import Failed, Invalid, Resource
from oracle_engine import COMPARTMENT, OracleEngine

from sandbox.cloud.wire import UNKNOWN

VCN = {"compartmentId": COMPARTMENT, "cidrBlocks": ["10.140.0.0/16"], "displayName": "net", "dnsLabel": "net"}


@pytest.fixture
def vcn(oracle: OracleEngine) -> Resource:
    return oracle.up("Vcn", "vcn", VCN)


def lies(vcn: Resource, **more: Any) -> dict[str, Any]:
    return {"compartmentId": COMPARTMENT, "vcnId": vcn.id, **more}


def test_a_new_vcn_has_an_id_of_its_region_and_a_default_security_list(vcn: Resource) -> None:
    assert vcn.id.startswith("ocid1.vcn.oc1.iad.")
    assert vcn.outputs["defaultSecurityListId"].startswith("ocid1.securitylist.oc1.iad.")
    assert vcn.outputs["vcnDomainName"] == "net.oraclevcn.com"
    assert vcn.outputs["state"] == "AVAILABLE"


def test_a_preview_knows_the_inputs_and_no_more(oracle: OracleEngine) -> None:
    planned = oracle.previewed("Vcn", "vcn", VCN)
    assert planned["cidrBlocks"] == ["10.140.0.0/16"]
    assert planned["defaultSecurityListId"] is UNKNOWN


def test_what_stays_the_same_makes_no_difference(oracle: OracleEngine, vcn: Resource) -> None:
    assert oracle.diff(vcn, VCN).paths == ()
    subnet = oracle.up("Subnet", "one", lies(vcn, cidrBlock="10.140.1.0/24"))
    assert oracle.diff(subnet, lies(vcn, cidrBlock="10.140.1.0/24")).paths == ()
    after = oracle.refresh(subnet)
    assert after is not None
    assert after.inputs == subnet.inputs


@pytest.mark.parametrize(
    ("change", "replaces"),
    [({"displayName": "other"}, ()), ({"dnsLabel": "other"}, ("dnsLabel",)), ({"freeformTags": {"a": "b"}}, ())],
)
def test_only_what_is_for_life_replaces_a_vcn(
    oracle: OracleEngine, vcn: Resource, change: dict[str, Any], replaces: tuple[str, ...]
) -> None:
    difference = oracle.diff(vcn, {**VCN, **change})
    assert (difference.paths, difference.replaces) == (tuple(change), replaces)


def test_another_vcn_replaces_what_lies_in_it(oracle: OracleEngine, vcn: Resource) -> None:
    subnet = oracle.up("Subnet", "one", lies(vcn, cidrBlock="10.140.1.0/24"))
    assert oracle.diff(subnet, {**subnet.inputs, "vcnId": UNKNOWN}).replaces == ("vcnId",)


@pytest.mark.parametrize(
    ("block", "message"),
    [("10.141.0.0/24", "is not in"), ("10.140.1.128/25", "overlaps"), ("10.140.1.1/24", "is not a range")],
)
def test_a_subnet_lies_in_the_vcn_beside_the_others(
    oracle: OracleEngine, vcn: Resource, block: str, message: str
) -> None:
    oracle.up("Subnet", "one", lies(vcn, cidrBlock="10.140.1.0/24"))
    with pytest.raises(Failed, match=f"400-InvalidParameter.*{message}"):
        oracle.up("Subnet", "two", lies(vcn, cidrBlock=block))


def test_something_in_a_vcn_that_is_not_there_is_refused(oracle: OracleEngine) -> None:
    with pytest.raises(Failed, match="404-NotAuthorizedOrNotFound"):
        oracle.up("NatGateway", "nat", {"compartmentId": COMPARTMENT, "vcnId": "ocid1.vcn.oc1.iad.nothing"})


@pytest.mark.parametrize("kind", ["InternetGateway", "NatGateway", "NetworkSecurityGroup", "SecurityList"])
def test_a_vcn_with_something_in_it_is_not_deleted(oracle: OracleEngine, vcn: Resource, kind: str) -> None:
    inside = oracle.up(kind, "inside", lies(vcn))
    with pytest.raises(Failed, match=f"409-Conflict, {vcn.id} is in use by {inside.id}"):
        oracle.delete(vcn)
    oracle.delete(inside)
    oracle.delete(vcn)
    assert oracle.refresh(vcn) is None


def test_a_gateway_that_a_route_names_is_not_deleted(oracle: OracleEngine, vcn: Resource) -> None:
    nat = oracle.up("NatGateway", "nat", lies(vcn))
    rule = {"destination": "0.0.0.0/0", "destinationType": "CIDR_BLOCK", "networkEntityId": nat.id}
    routes = oracle.up("RouteTable", "private", lies(vcn, routeRules=[rule]))
    with pytest.raises(Failed, match="409-Conflict"):
        oracle.delete(nat)
    oracle.delete(routes)
    oracle.delete(nat)


def test_a_busy_subnet_is_deleted_when_the_time_limit_is_the_longer_one(oracle: OracleEngine, vcn: Resource) -> None:
    subnet = oracle.up("Subnet", "one", lies(vcn, cidrBlock="10.140.1.0/24"))
    oracle.order("subnet-busy", 300)
    oracle.delete(subnet, limit_s=900)
    assert oracle.refresh(subnet) is None

    busier = oracle.up("Subnet", "two", lies(vcn, cidrBlock="10.140.2.0/24"))
    oracle.order("subnet-busy", 1_000_000)
    with pytest.raises(Failed, match="409-Conflict"):
        oracle.delete(busier, limit_s=900)


def test_the_default_security_list_is_taken_over_and_given_back(oracle: OracleEngine, vcn: Resource) -> None:
    given = {
        "manageDefaultResourceId": vcn.outputs["defaultSecurityListId"],
        "egressSecurityRules": [],
        "ingressSecurityRules": [],
    }
    taken = oracle.up("DefaultSecurityList", "default", given)
    assert taken.id == vcn.outputs["defaultSecurityListId"]
    assert oracle.diff(taken, given).paths == ()
    oracle.delete(taken)
    oracle.delete(vcn)


def test_a_rule_changes_in_place_and_in_another_group_is_made_anew(oracle: OracleEngine, vcn: Resource) -> None:
    group = oracle.up("NetworkSecurityGroup", "workers", lies(vcn))
    rule = {
        "networkSecurityGroupId": group.id,
        "direction": "INGRESS",
        "protocol": "6",
        "source": "10.0.0.0/8",
        "sourceType": "CIDR_BLOCK",
        "tcpOptions": {"destinationPortRange": {"min": 22, "max": 22}},
    }
    made = oracle.up("NetworkSecurityGroupSecurityRule", "ssh", rule)
    assert oracle.diff(made, rule).paths == ()
    wider = {**rule, "tcpOptions": {"destinationPortRange": {"min": 22, "max": 23}}}
    assert oracle.diff(made, wider).replaces == ()
    assert oracle.update(made, wider).outputs["tcpOptions"] == wider["tcpOptions"]
    assert oracle.diff(made, {**rule, "networkSecurityGroupId": "another"}).replaces == ("networkSecurityGroupId",)
    assert oracle.diff(made, {name: value for name, value in rule.items() if name != "tcpOptions"}).paths
    oracle.delete(group)
    assert oracle.refresh(made) is None


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"direction": "INWARDS"}, "direction"),
        ({"source": None, "destination": "10.0.0.0/8"}, "has a source"),
        ({"sourceType": "NETWORK_SECURITY_GROUP"}, "is not a valid NETWORK_SECURITY_GROUP"),
        ({"protocol": "tcp"}, "protocol"),
        ({"protocol": "17", "tcpOptions": {}}, "tcpOptions are for protocol 6"),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(
    oracle: OracleEngine, vcn: Resource, rule: dict[str, Any], message: str
) -> None:
    group = oracle.up("NetworkSecurityGroup", "workers", lies(vcn))
    good = {"networkSecurityGroupId": group.id, "direction": "INGRESS", "protocol": "6", "source": "10.0.0.0/8"}
    with pytest.raises(Failed, match=message):
        oracle.up("NetworkSecurityGroupSecurityRule", "one", {**good, **rule})


def test_a_service_gateway_leads_to_a_service_of_the_region(oracle: OracleEngine, vcn: Resource) -> None:
    rule = {"name": "name", "values": ["All .* Services In Oracle Services Network"], "regex": True}
    [service] = oracle.ask("Core/getServices", filters=[rule])["services"]
    assert service["cidrBlock"] == "all-iad-services-in-oracle-services-network"
    assert oracle.up("ServiceGateway", "services", lies(vcn, services=[{"serviceId": service["id"]}])).id
    elsewhere = [{"serviceId": "ocid1.service.oc1.phx.other"}]
    with pytest.raises(Failed, match="not a service of region us-ashburn-1"):
        oracle.up("ServiceGateway", "other", lies(vcn, services=elsewhere))


def test_an_argument_that_the_type_has_not_is_refused(oracle: OracleEngine, vcn: Resource) -> None:
    with pytest.raises(Invalid, match="no such input property"):
        oracle.check("Subnet", "one", lies(vcn, cidr="10.140.1.0/24"))


def test_a_service_gateway_names_each_service_by_its_id(oracle: OracleEngine, vcn: Resource) -> None:
    with pytest.raises(Invalid) as refused:
        oracle.check("ServiceGateway", "one", {**lies(vcn), "services": [{}]})
    assert set(refused.value.reasons) == {"services[0].serviceId"}
