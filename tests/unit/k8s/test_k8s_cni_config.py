"""CNI configurations: their one text form, and what Multus, a plug-in or an IPAM would fail on at a pod's start."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.cni import (
    CniChain,
    HostDevicePlugin,
    IbSriovPlugin,
    IpoibPlugin,
    IpPreservingHostDevicePlugin,
    MacvlanPlugin,
    NetworkAttachmentDefinitionSpec,
    NvIpam,
    RdmaPlugin,
    SbrPlugin,
    SingleCni,
    SriovPlugin,
    TuningPlugin,
)
from gpu_fabric.k8s.whereabouts import Whereabouts


def test_a_cni_chain_is_one_line_of_sorted_json() -> None:
    chain = CniChain(
        name="rail-00",
        plugins=(
            SriovPlugin(spoofchk="off", ipam=NvIpam(pool_name="rail-00", pool_type="ippool")),
            TuningPlugin(sysctl={"net.ipv4.conf.all.rp_filter": "0", "net.ipv4.conf.all.arp_ignore": "1"}, mtu=4220),
            RdmaPlugin(),
            SbrPlugin(),
        ),
    )
    assert chain.to_json() == (
        '{"cniVersion":"0.3.1","name":"rail-00","plugins":['
        '{"ipam":{"poolName":"rail-00","poolType":"ippool","type":"nv-ipam"},"spoofchk":"off","type":"sriov"},'
        '{"mtu":4220,"sysctl":{"net.ipv4.conf.all.arp_ignore":"1","net.ipv4.conf.all.rp_filter":"0"},"type":"tuning"},'
        '{"type":"rdma"},{"type":"sbr"}]}'
    )
    assert CniChain.model_validate_json(chain.to_json()) == chain


def test_sriov_cni_keys_keep_their_own_spelling() -> None:
    assert SriovPlugin(link_state="enable", vlan=7, vlan_qos=3).to_dict() == {
        "type": "sriov",
        "link_state": "enable",
        "vlan": 7,
        "vlanQoS": 3,
    }


def test_one_plugin_without_a_list_has_the_form_of_the_doks_guide() -> None:
    config = SingleCni(plugin=HostDevicePlugin(device="fabric0")).to_json()
    assert config == '{"cniVersion":"0.3.1","device":"fabric0","type":"host-device"}'
    assert NetworkAttachmentDefinitionSpec(config=config).config == config


def test_one_plugin_may_carry_a_name_and_an_ipam() -> None:
    plugin = MacvlanPlugin(master="ens1f0", mtu=4200, ipam=NvIpam(pool_name="rail-00"))
    assert json.loads(SingleCni(name="rail-00", cni_version="1.0.0", plugin=plugin).to_json()) == {
        "cniVersion": "1.0.0",
        "name": "rail-00",
        "type": "macvlan",
        "master": "ens1f0",
        "mode": "bridge",
        "mtu": 4200,
        "ipam": {"type": "nv-ipam", "poolName": "rail-00"},
    }


@pytest.mark.parametrize(
    ("plugin", "written"),
    [
        (
            IbSriovPlugin(pkey="0x10", link_state="enable", rdma_isolation=True, ib_kubernetes_enabled=True),
            '"ibKubernetesEnabled":true,"link_state":"enable","pkey":"0x10","rdmaIsolation":true,"type":"ib-sriov"',
        ),
        (IpoibPlugin(master="ib0"), '"master":"ib0","type":"ipoib"'),
        (HostDevicePlugin(pci_bus_id="0000:0c:00.0"), '"pciBusID":"0000:0c:00.0","type":"host-device"'),
        # a device plug-in's resource names the NIC
        (HostDevicePlugin(), '"type":"host-device"'),
        (IpPreservingHostDevicePlugin(device="fabric0"), '"device":"fabric0","type":"ip-preserving-host-device"'),
    ],
)
def test_a_plugin_has_the_keys_that_it_reads(plugin: Any, written: str) -> None:
    assert SingleCni(plugin=plugin).to_json() == f'{{"cniVersion":"0.3.1",{written}}}'


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        ({"type": "host-device", "device": "fabric0", "pciBusID": "0000:0c:00.0"}, "device or pciBusID, not both"),
        ({"type": "host-device", "pciBusID": "0c:00.0"}, "pciBusID"),
        ({"type": "host-device", "device": "fabric0", "isRdma": True}, "unknown field 'isRdma'"),
        ({"type": "ip-preserving-host-device"}, "device"),
        ({"type": "ip-preserving-host-device", "device": "fabric0", "ipam": {}}, "unknown field 'ipam'"),
        ({"type": "macvlan", "master": "a-name-of-16-cha"}, "allowed are 1-15 characters"),
        ({"type": "macvlan", "master": "ens1f0", "mode": "private"}, "'bridge'"),
        ({"type": "ipoib", "master": ["ib0"]}, "valid string"),
        ({"type": "ib-sriov", "pkey": 1000}, "valid string"),
        ({"type": "ib-sriov", "pkey": "1000"}, "write hex text from 0x0 to 0x7fff"),
        ({"type": "ib-sriov", "pkey": "0x8000"}, "write hex text from 0x0 to 0x7fff"),
        ({"type": "ib-sriov", "pkey": "0xabc"}, "with a digit after the x"),
        ({"type": "tuning", "mtu": 4200}, "tuning"),
    ],
)
def test_a_plugin_that_would_fail_alone_is_refused(plugin: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SingleCni.model_validate({"plugin": plugin})


def test_a_chain_that_starts_without_an_interface_is_refused() -> None:
    with pytest.raises(ValidationError, match="tuning cannot come first"):
        CniChain(name="rail-00", plugins=(TuningPlugin(mtu=4200), SriovPlugin()))


def test_a_chain_with_two_interfaces_is_refused() -> None:
    with pytest.raises(ValidationError, match="sriov must come first and alone"):
        CniChain(name="rail-00", plugins=(MacvlanPlugin(master="ens1f0"), SriovPlugin()))


def test_a_dual_stack_range_reads_as_whereabouts_writes_it() -> None:
    written = {
        "type": "whereabouts",
        "gateway": "10.0.0.1",
        "ipRanges": [
            {"range": "10.0.0.0/24", "range_start": "10.0.0.10", "range_end": "10.0.0.20", "exclude": ["10.0.0.12/31"]},
            {"range": "fd00::/64"},
        ],
    }
    assert Whereabouts.model_validate(written).to_dict() == written


@pytest.mark.parametrize("text", ["10.0.0.0/24", "10.0.0.10-10.0.0.20/24", "fd00::/64", "fd00::10-fd00::20/64"])
def test_a_range_may_be_a_network_or_a_part_of_one(text: str) -> None:
    assert SriovPlugin(ipam=Whereabouts(range=text)).to_dict()["ipam"] == {"type": "whereabouts", "range": text}


@pytest.mark.parametrize(
    ("ipam", "message"),
    [
        ({}, "give either range or ipRanges"),
        ({"range": "10.0.0.0/24", "ipRanges": [{"range": "fd00::/64"}]}, "give either range or ipRanges"),
        ({"ipRanges": [{"range": "fd00::/64"}], "range_start": "fd00::1"}, "need the range that they narrow"),
        ({"range": "10.0.0.1/24"}, "write 10.0.0.0/24 or 10.0.0.10-10.0.0.20/24"),
        ({"range": "10.0.0.20-10.0.0.10/24"}, "the first not after the last"),
        ({"range": "10.0.0.20-10.0.1.10/24"}, "both ends must be in one network"),
        ({"range": "10.0.0.0/24", "range_start": "10.0.1.1"}, "range_start 10.0.1.1 is outside 10.0.0.0/24"),
        ({"range": "10.0.0.0/24", "range_start": "10.0.0.9", "range_end": "10.0.0.8"}, "is after range_end"),
        ({"range": "10.0.0.0/24", "exclude": ["10.0.1.0/30"]}, "exclude 10.0.1.0/30 is outside"),
        ({"range": "10.0.0.0/24", "exclude": ["10.0.0.1-10.0.0.4"]}, "write an address or CIDR notation"),
        ({"range": "10.0.0.0/24", "gateway": "10.0.1.1"}, "gateway 10.0.1.1 is outside 10.0.0.0/24"),
        ({"range": "10.0.0.0/24", "rangeStart": "10.0.0.1"}, "did you mean range_start"),
    ],
)
def test_a_range_that_would_hand_out_wrong_addresses_is_refused(ipam: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Whereabouts.model_validate({"type": "whereabouts", **ipam})
