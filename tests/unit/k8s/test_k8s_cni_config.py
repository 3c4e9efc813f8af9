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
