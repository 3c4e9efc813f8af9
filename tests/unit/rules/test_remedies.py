"""What a remedy with a value says is enough, and the next value that asks for less is not."""

from __future__ import annotations

from typing import Any

import pytest
from changes import Changes

from rules.tables import RuleCase, found_in

_AT = "fabric.addressing"
_POOL = "cluster.pools[0]"
_TWO_POOLS: Changes = {
    "cluster.pools": [
        {"name": name, "shape": "BM.GPU.H100.8", "nodes": 3, "nodeNames": [f"{name}-{node}" for node in range(3)]}
        for name in ("first", "second")
    ]
}
_TWO_ADDRESSES: Changes = {
    f"{_POOL}.nodes": 2,
    f"{_POOL}.nodeNames": ["gpu-a", "gpu-b"],
    "fabric.hostPreparation": {"addresses": True},
}
_REPLICAS = "software.spiderpool.values.spiderpoolController.replicas"
_WITH_VCN_PODS: Changes = {"cluster.cni": "vcn-native", f"{_POOL}.maxPods": 100}
_UNCOUNTABLE: Changes = {_AT: {"layout": "per-node", "supernet": "fd00:10::/48", "gateway": "last"}}

# A faulty stack, what the remedy says, the place that it is about, a value that follows it, and one that falls short.
REMEDIES: tuple[tuple[str, str, Changes, str, str, Any, Any], ...] = (
    ("DEV004", "ib-sriov", {"fabric.rails": [{"rail": 8}]}, "allowed: 0 to 7", "fabric.rails[0].rail", 7, 8),
    (
        "DEV006",
        "ib-sriov",
        {"fabric.rails": [{"rail": 0, "nearestGpu": 9}]},
        "allowed: 0 to 7",
        "fabric.rails[0].nearestGpu",
        7,
        8,
    ),
    (
        "ADR018",
        "sriov-per-node",
        {**_TWO_POOLS, "cluster.pools[1].firstShare": 1},
        "write 3 or more",
        "cluster.pools[1].firstShare",
        3,
        2,
    ),
    (
        "DOK027",
        "doks-h200",
        {"cluster.ranges.pods": "10.156.0.0/22", f"{_POOL}.nodes": 14},
        "write a range of /21 or shorter",
        "cluster.ranges.pods",
        "10.156.0.0/21",
        "10.156.0.0/22",
    ),
    (
        "DOK027",
        "doks-h200",
        {"cluster.ranges.pods": "10.156.0.0/22", f"{_POOL}.nodes": 15},
        "write a range of /20 or shorter",
        "cluster.ranges.pods",
        "10.156.0.0/20",
        "10.156.0.0/21",
    ),
    (
        "OKE007",
        "oke-h100-26-4",
        {**_WITH_VCN_PODS, "cluster.vcn.subnets": {"pods": "10.140.128.0/24"}},
        "write a range of /22 or shorter, or a smaller maxPods",
        "cluster.vcn.subnets.pods",
        "10.140.128.0/22",
        "10.140.128.0/23",
    ),
    (
        "IPM001",
        "sriov-ipv6",
        _UNCOUNTABLE,
        "write gateway: first, or a nodePrefixLength of 97 or more",
        f"{_AT}.nodePrefixLength",
        97,
        96,
    ),
    (
        "SPI002",
        "spiderpool-sriov-per-node",
        {f"{_AT}.reservedFirst": 0},
        "write reservedFirst: 2, and give the NIC the last of them",
        f"{_AT}.reservedFirst",
        2,
        1,
    ),
    (
        "SPI002",
        "spiderpool-sriov-per-node",
        {f"{_AT}.reservedFirst": 0, f"{_AT}.gateway": "none"},
        "write reservedFirst: 1, and give the NIC the last of them",
        f"{_AT}.reservedFirst",
        1,
        0,
    ),
    (
        "HPR006",
        "spiderpool-macvlan",
        _TWO_ADDRESSES,
        "write reservedFirst: 2 or more, with room for nodes to come",
        f"{_AT}.reservedFirst",
        2,
        1,
    ),
    (
        "HPR006",
        "spiderpool-macvlan",
        {**_TWO_ADDRESSES, "fabric.podsPerNic": 10, f"{_AT}.spareNodes": 2, f"{_AT}.surgeNodes": 1},
        "write reservedFirst: 5 or more, with room for nodes to come",
        f"{_AT}.reservedFirst",
        5,
        4,
    ),
    (
        "HPR006",
        "spiderpool-macvlan",
        {**_TWO_ADDRESSES, f"{_AT}.reservedLast": 2},
        "write reservedLast: 3 or more, with room for nodes to come",
        f"{_AT}.reservedLast",
        3,
        2,
    ),
    (
        # What nv-ipam cuts into blocks from the first address on has room for hosts at its end.
        "HPR006",
        "roce-macvlan",
        {
            f"{_POOL}.nodeNames": [f"gpu-{node}" for node in range(8)],
            "fabric.hostPreparation": {"addresses": True},
            "fabric.rails": [{"rail": rail, "interface": f"ens{rail}"} for rail in range(8)],
        },
        "write reservedLast: 8 or more, with room for nodes to come",
        f"{_AT}.reservedLast",
        8,
        0,
    ),
    (
        "HPR006",
        "spiderpool-sriov-per-node",
        {"fabric.hostPreparation": {"addresses": True}, f"{_AT}.reservedFirst": 0},
        "write reservedFirst: 2 or more",
        f"{_AT}.reservedFirst",
        2,
        1,
    ),
    (
        "CHK002",
        "spiderpool-ib",
        {"fabric.check": {}, "fabric.vfsPerNic": 1},
        "write vfsPerNic: 2 or more, of which one is the check's, or leave check out",
        "fabric.vfsPerNic",
        2,
        1,
    ),
    (
        "SPI020",
        "spiderpool-ib",
        {_REPLICAS: 16},
        "write 15 or fewer, unless the cluster has other nodes",
        _REPLICAS,
        15,
        16,
    ),
)


def _found(rule: str, stack: str, changes: Changes) -> list[str]:
    return [entry.remedy for entry in found_in(RuleCase(rule, "bad", stack, changes))]


@pytest.mark.parametrize(("rule", "stack", "changes", "remedy", "place", "enough", "short"), REMEDIES)
def test_a_value_in_a_remedy_is_enough_and_the_next_one_is_not(
    rule: str, stack: str, changes: Changes, remedy: str, place: str, enough: Any, short: Any
) -> None:
    assert _found(rule, stack, changes) == [remedy]
    assert _found(rule, stack, {**changes, place: enough}) == []
    assert _found(rule, stack, {**changes, place: short}) == [remedy]


@pytest.mark.parametrize(
    ("rule", "stack", "changes", "remedy"),
    [
        (
            "ADR019",
            "sriov-per-node",
            _TWO_POOLS,
            "add firstShare: 3 or a higher number, which leaves room for growth before it",
        ),
        (
            "CLU004",
            "host-device",
            {"cluster.pools[0].shape": "BM.GPU.A10.4"},
            "write a shape with a fabric: `gpu-fabric shapes --rdma` lists them; nodes without one are left out of the "
            "file, also if they have GPUs",
        ),
        (
            "REL006",
            "host-device",
            {"software.gpuOperator.values": {"toolkit": {"version": "v1.18.1-ubi8"}}},
            "write v1.18.1",
        ),
        (
            "VFN002",
            "guide-23-10",
            {"fabric.virtualFunctions": "sriov-operator"},
            "write daemon-set, or the release line 26.7 or 26.4 or 26.1",
        ),
        (
            "VFN004",
            "externally-managed",
            {"fabric.vfsPerNic": 2},
            "write 1 or leave it out, or write virtualFunctions: sriov-operator",
        ),
        (
            "NET012",
            "spiderpool-ib",
            {"fabric.pkey": "0x1"},
            "write software.spiderpool.ibKubernetes: true where the cluster runs ib-kubernetes, or leave it out and "
            "let the subnet manager assign partitions",
        ),
        (
            "SPI011",
            "spiderpool-ib",
            {"software.spiderpool.injection": "all-rails", "fabric.rails": [{"rail": 0, "network": "storage"}]},
            "give the rails network names that sort in the order of the rails, or leave injection out and let pods "
            "name their networks",
        ),
        (
            "SPI018",
            "spiderpool-ib",
            {"software.spiderpool.values": {"coordinator": {"vethMTU": 1400}}},
            "write software.spiderpool.coordinator.vethMtu instead",
        ),
        ("DPK002", "sriov-dpdk", {"fabric.dpdk.hugePages": "513Mi"}, "write 512Mi or 514Mi"),
        ("DPK002", "sriov-dpdk", {"fabric.dpdk.hugePages": "1Mi"}, "write 2Mi"),
        (
            "REL010",
            "ib-sriov",
            {
                "software.networkOperator.ofedDriver": True,
                "software.gpuOperator": {
                    "driver": True,
                    "gpuDirect": "peermem",
                    "values": {"driver": {"rdma": {"useHostMofed": True}}},
                },
            },
            "write useHostMofed: false, or leave it out",
        ),
        (
            "SUP001",
            "spiderpool-macvlan",
            {"fabric.model": "host-device"},
            "allowed with spiderpool: macvlan or sriov or ib-sriov or ipoib; "
            "host-device is offered by network-operator or doks",
        ),
        (
            "SUP003",
            "roce-macvlan",
            {"fabric.linkType": "infiniband"},
            "allowed on infiniband with network-operator: host-device or ib-sriov or ipoib or host-network",
        ),
        (
            "SUP003",
            "ib-sriov",
            {"fabric.model": "sriov"},
            "allowed on infiniband with network-operator: host-device or ib-sriov or ipoib or host-network; or write "
            "linkType: ether, if the NICs' ports run it",
        ),
        (
            "DEV003",
            "sriov-dpdk",
            {"fabric.vfsPerNic": None, "fabric.virtualFunctions": None},
            "add vfsPerNic: how many the DaemonSet is to make per RDMA NIC (virtualFunctions: sriov-operator has the "
            "SR-IOV operator make them), or choose a model without virtual functions",
        ),
        (
            "SUP006",
            "oke-h100-26-4",
            {"fabric.manager": "doks", "fabric.model": "host-device"},
            "allowed on oke: network-operator or spiderpool",
        ),
        ("SUP008", "spiderpool-macvlan", {"software.releaseLine": "23.10"}, "allowed: 26.7 or 26.4 or 26.1"),
    ],
)
def test_a_remedy_names_what_this_stack_may_have(rule: str, stack: str, changes: Changes, remedy: str) -> None:
    assert _found(rule, stack, changes) == [remedy]
