"""What runs on the GPU nodes finds them: by the pools' labels, or by the mark that the NICs' own vendor has."""

import json
from typing import Any

import pytest
from planned_fabrics import example, plan_of

from gpu_fabric.catalog import catalog
from gpu_fabric.findings import ConfigurationError
from gpu_fabric.plan import Plan

_SPIDERPOOL = "spiderpool-sriov-per-node"
_SHAPE = "cluster.shapes.guide-cx5.nicModel"
_MARK = "feature.node.kubernetes.io/pci-{}.present"


def _text(plan: Plan) -> str:
    return json.dumps(plan.model_dump(mode="json", exclude={"findings"}))


@pytest.mark.parametrize("vendor", ["14e4", "15b3"])
@pytest.mark.parametrize("part", [{"fabric.hostPreparation": {"disableAcs": True}}, {"fabric.check": {}}])
def test_nodes_are_selected_by_the_vendor_of_their_own_nics(vendor: str, part: dict[str, Any]) -> None:
    nics = {_SHAPE: {"vendorId": vendor, "driver": "a_driver", "linkType": "ether"}}
    plan = _text(plan_of(_SPIDERPOOL, {**nics, **part}))

    assert _MARK.format(vendor) in plan
    assert vendor == "15b3" or _MARK.format("15b3") not in plan


def test_labels_of_the_pools_come_before_the_mark_of_the_nics() -> None:
    plan = _text(example("ib-sriov", {"cluster.pools[0].labels": {"machine": "gpu"}}))

    assert "pci-15b3" not in plan
    assert '"machine": "gpu"' in plan


def test_macvlan_asks_for_names_that_the_catalog_does_not_have_for_ethernet() -> None:
    macvlan = {"fabric.model": "macvlan", "fabric.linkType": "ether"}
    with pytest.raises(ConfigurationError) as refused:
        example("ipoib", {**macvlan, "cluster.pools[0].shape": "server.dgx-a100.8"})
    plan = example("ipoib", macvlan)

    assert [finding.id for finding in refused.value.findings] == ["DEV002"]
    assert '"master":"enp24s0np0"' in plan.applied("networks")[0].object.manifest()["spec"]["config"]
    assert "ibp24s0" not in _text(plan)


_DGX = ("server.dgx-h100.8", "server.dgx-h200.8", "server.dgx-a100.8")
_WHOLE_NICS = {"fabric.model": "host-device", "fabric.vfsPerNic": 0, "fabric.virtualFunctions": None}


@pytest.mark.parametrize("link", ["ether", "infiniband"])
@pytest.mark.parametrize("shape", _DGX)
def test_an_interface_named_for_the_other_link_type_is_reported_with_the_right_name(shape: str, link: str) -> None:
    nic = catalog().shapes[shape].nics[0]
    right, wrong = (nic.interface, nic.other_interface)[:: 1 if link == "infiniband" else -1]
    changes = {**_WHOLE_NICS, "cluster.pools[0].shape": shape, "fabric.linkType": link}
    said = {right: [], wrong: [f"write {right}, or leave it out" if right else "`ip -br link`"]}
    for name in said.keys() - {None}:
        plan = example("ib-sriov", {**changes, "fabric.rails": [{"rail": 0, "interface": name}]})
        remedies = [finding.remedy for finding in plan.findings if finding.id == "DEV018"]

        assert len(remedies) == len(said[name])
        assert all(words in remedy for words, remedy in zip(said[name], remedies, strict=True))


@pytest.mark.parametrize(("link", "name"), [("ether", "ibs4"), ("infiniband", "ens4np0")])
def test_the_names_of_an_own_shape_are_held_against_its_link_type(link: str, name: str) -> None:
    nics = [{"interface": name, "pci": "0000:18:00.0", "nearestGpu": 0}]
    shape = {"gpus": {"vendor": "nvidia", "count": 8}, "nicModel": {"vendorId": "15b3", "linkType": link}, "nics": nics}
    changes = {"cluster.shapes": {"lab": shape}, "cluster.pools[0].shape": "lab", "fabric.linkType": None}
    plan = example("ib-sriov", {**_WHOLE_NICS, **changes})

    (found,) = (finding for finding in plan.findings if finding.id == "DEV018")
    assert found.path == "gpu-fabric:cluster.shapes.lab.nics[0].interface"
    assert "`ip -br link`" in found.remedy
