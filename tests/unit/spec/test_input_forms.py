"""Forms of what a stack file names: others are refused at their place, with the form, and never with a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of
from each_case import each
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_fabric.base.grammar import is_image, is_label_key, is_label_value, moves
from gpu_fabric.findings import ConfigurationError, Finding
from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document, validate
from gpu_fabric.spec.stack_text import StackDocument

POOL = "cluster.pools[0]"
MACHINE = {
    "gpus": {"vendor": "nvidia", "count": 8},
    "nicModel": {"vendorId": "15b3", "deviceId": "1021", "linkType": "ether"},
    "nics": [{"pci": "0000:0c:00.0", "interface": "rdma0", "rdmaDevice": "mlx5_0"}],
}
STACKS = ("dev", "doks-h200", "oke-h100", "spiderpool-macvlan", "roce-macvlan", "sriov-operator")


def document(stack: str, changes: dict[str, Any]) -> StackDocument:
    return changed(read_document(stack, folder_of(stack)), changes)


def findings(stack: str, changes: dict[str, Any]) -> tuple[Finding, ...]:
    return validate(document(stack, changes))[1]


def refused(stack: str, changes: dict[str, Any], place: str) -> Finding:
    """The one finding, which is about a place and says what to write."""
    (only,) = findings(stack, changes)
    assert (only.id, only.path) == ("SPC002", f"gpu-fabric:{place}")
    assert only.remedy
    return only


def machine(nic: dict[str, Any] | None = None, model: dict[str, Any] | None = None) -> dict[str, Any]:
    """A stack's changes that describe a machine of its own."""
    hardware = {**MACHINE, "nicModel": {**MACHINE["nicModel"], **(model or {})}}  # type: ignore[dict-item]
    hardware["nics"] = [{**MACHINE["nics"][0], **(nic or {})}]  # type: ignore[dict-item]
    return {"cluster.shapes": {"lab": hardware}, f"{POOL}.shape": "lab"}


@pytest.mark.parametrize(
    "wrong", [".", "..", "lo", "all", "default", "ens1\n", "\nens1", "a/b", "a:b", "a b", "x" * 16, ""]
)
def test_an_interface_is_one_that_a_nic_can_have(wrong: str) -> None:
    refused("dev", machine({"interface": wrong}), "cluster.shapes.lab.nics[0].interface")
    rail = {"fabric.rails": [{"rail": 0, "interface": wrong}]}
    refused("dev", rail, "fabric.rails[0].interface")


@pytest.mark.parametrize(
    "wrong", ["0000:20:00.0\n", "0000:20:20.0", "0000:20:ff.0", "0000:20:00.8", "20:00.0", "0000:2G:00.0"]
)
def test_a_pci_address_has_a_device_below_twenty_hex_and_ends_where_it_ends(wrong: str) -> None:
    refused("dev", machine({"pci": wrong}), "cluster.shapes.lab.nics[0].pci")
    refused("dev", {"fabric.rails": [{"rail": 0, "pci": wrong}]}, "fabric.rails[0].pci")


@pytest.mark.parametrize("key", ["vendorId", "deviceId", "vfDeviceId"])
@pytest.mark.parametrize("wrong", ["15b3\n", "15B3", "0x15b3", "15b"])
def test_a_pci_id_is_four_digits(key: str, wrong: str) -> None:
    refused("dev", machine(model={key: wrong}), f"cluster.shapes.lab.nicModel.{key}")


@pytest.mark.parametrize(
    "wrong", ["=mlx5_1", "^mlx5_1", "mlx5 1", "mlx5_1\nFOO=1", "mlx5_1\n", "a,b", "mlx5_1:1", "", "x" * 64]
)
def test_an_rdma_device_is_one_name_that_nccl_reads_as_it_is(wrong: str) -> None:
    refused("roce-macvlan", {"fabric.rails": [{"rail": 0, "rdmaDevice": wrong}]}, "fabric.rails[0].rdmaDevice")
    refused("dev", machine({"rdmaDevice": wrong}), "cluster.shapes.lab.nics[0].rdmaDevice")


@pytest.mark.parametrize(
    "labels",
    [
        {"a": "b\n"},
        {"a\n": "b"},
        {"a..b/c": "d"},
        {"a-.b/c": "d"},
        {".a/b": "c"},
        {"A.b/c": "d"},
        {"/a": "b"},
        {"a": "-b"},
        {"x" * 254 + "/a": "b"},
        {"x" * 64 + ".y/a": "b"},
    ],
)
def test_a_label_is_one_that_kubernetes_takes(labels: dict[str, str]) -> None:
    refused("dev", {f"{POOL}.labels": labels}, f"{POOL}.labels")


@given(st.text(alphabet="aA0-._/\n", max_size=70))
def test_a_text_with_a_line_end_is_never_a_label(text: str) -> None:
    assert not (text.endswith("\n") and (is_label_value(text) or is_label_key(text)))


@pytest.mark.parametrize("key", ["key", "value"])
def test_a_taint_ends_where_it_ends(key: str) -> None:
    taint = {"key": "dedicated", "value": "gpu", key: "gpu\n"}
    refused("dev", {f"{POOL}.taints": [taint]}, f"{POOL}.taints[0].{key}")


@pytest.mark.parametrize("other", [{}, {"value": "b"}])
def test_a_taint_is_listed_once_for_a_key_and_an_effect(other: dict[str, str]) -> None:
    taint = {"key": "dedicated", "value": "a"}
    said = refused("dev", {f"{POOL}.taints": [taint, {**taint, **other}]}, f"{POOL}.taints")
    assert "dedicated:NoSchedule is there twice" in said.message

    two = [taint, {**taint, "effect": "NoExecute"}]
    assert findings("dev", {f"{POOL}.taints": two}) == ()


IMAGES = {
    "dev": ("verification.image", "software.hostImage", "fabric.check.image"),
    "doks-h200": ("software.multus.image", "software.schedulers.mpiOperator.image"),
}


@each(("stack", "place"), [(stack, place) for stack, places in IMAGES.items() for place in places])
@each(
    "wrong",
    [
        "not an image",
        "UPPER case:::",
        "a b c",
        "reg.io/Upper:1",
        "a:b:c",
        "a@sha256:12",
        "a//b",
        "a:1\n",
        ":1",
        "https://a/b:1",
    ],
)
def test_an_image_is_one_that_runtimes_take(stack: str, place: str, wrong: str) -> None:
    said = refused(stack, {place: wrong}, place)
    assert "such as registry.example.com/tests:1.0" in said.remedy


@pytest.mark.parametrize(
    ("image", "moving"),
    [
        ("busybox", True),
        ("nvcr.io/nvidia/tests:latest", True),
        ("mirror:5000/a_b/c__d/e--f:1.0", False),
        ("localhost/a:v1", False),
        ("a@sha256:" + "0" * 64, False),
        ("mirror.example:65535/a:latest@sha256:" + "a" * 64, False),
        ("mirror.example:5000/a", True),
    ],
)
def test_good_images_pass_and_moving_ones_are_known(image: str, moving: bool) -> None:
    assert is_image(image)
    assert moves(image) is moving


@pytest.mark.parametrize(
    ("place", "value", "at"),
    [
        ("software.registries", {"*": "mirror.example:70000"}, "software.registries.*"),
        ("software.registries", {"*": "mirror.example:0/a"}, "software.registries.*"),
        ("software.registries", {"*": "-mirror.example"}, "software.registries.*"),
        ("software.registries", {"*": "mirror..example/a"}, "software.registries.*"),
        ("software.registries", {"*": "mirror.example/a\n"}, "software.registries.*"),
        ("software.charts", "https://mirror.example/charts\n", "software.charts"),
        ("software.charts", "https://", "software.charts"),
        ("software.charts", "oci://mirror.example:99999/charts", "software.charts"),
        ("cluster.id", "an\0id", "cluster.id"),
        ("cluster.context", "production\n", "cluster.context"),
        ("verification.program", "all_reduce_perf\n-b 8", "verification.program"),
    ],
)
def test_other_forms_end_where_they_end(place: str, value: Any, at: str) -> None:
    refused("dev", {place: value}, at)


@pytest.mark.parametrize(
    "wrong", ["00:" * 7 + "00", "ff:" * 7 + "ff", "02:00", "02-00-00-00-00-00-00-01", "02:00:00:00:00:00:00:0g"]
)
def test_a_guid_is_neither_nothing_nor_everybody(wrong: str) -> None:
    keys = {"ufmSecret": "ufm", "guidRangeStart": wrong, "guidRangeEnd": "02:ff:ff:ff:ff:ff:ff:ff"}
    at = "software.networkOperator.partitionKeys"
    refused("ib-sriov-pkey", {at: keys}, f"{at}.guidRangeStart")
    named = {**keys, "guidRangeStart": "02:00:00:00:00:00:00:01"}
    assert findings("ib-sriov-pkey", {at: named}) == ()
    refused("ib-sriov-pkey", {at: {**named, "ufmSecret": "Bad Name!"}}, f"{at}.ufmSecret")


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("cluster.systemPool.size", "foo bar"),
        ("cluster.systemPool.size", "S-4VCPU"),
        ("cluster.singleSignOn", {"issuerUrl": "not a url", "clientId": "a"}),
        ("cluster.singleSignOn", {"issuerUrl": "http://issuer.example", "clientId": "a"}),
        ("cluster.singleSignOn", {"issuerUrl": "https://user:secret@issuer.example", "clientId": "a"}),
    ],
)
def test_digitaloceans_forms(place: str, wrong: Any) -> None:
    at = f"{place}.issuerUrl" if isinstance(wrong, dict) else place
    said = refused("doks-h200", {place: wrong}, at)
    assert "secret" not in said.message + said.remedy


_CLOUD_IDS = (
    "cluster.vpc.id",
    "cluster.project.id",
    "cluster.adopt.vpc",
    "cluster.adopt.cluster",
    "cluster.adopt.pools.gpu",
)
_A_UUID = "5a4981aa-9653-4bd1-bef5-d6bff52042e4"


@each(
    "wrong",
    [
        "my-vpc",
        "default-nyc2",
        "do:vpc:" + _A_UUID,
        _A_UUID.upper(),
        _A_UUID.replace("-", ""),
        _A_UUID[:-1],
        _A_UUID + "\n",
        "{" + _A_UUID + "}",
        "5a4981ag-9653-4bd1-bef5-d6bff52042e4",
        "ocid1.vcn.oc1.iad.aaaaaaaaexample",
    ],
)
@each("place", _CLOUD_IDS)
def test_an_id_of_digitalocean_is_a_uuid_and_no_name(place: str, wrong: str) -> None:
    said = refused("doks-h200", _with_id(place, wrong), place)

    assert "a UUID in lower case" in said.remedy


@pytest.mark.parametrize("place", _CLOUD_IDS)
def test_a_uuid_is_an_id_of_digitalocean(place: str) -> None:
    assert findings("doks-h200", _with_id(place, _A_UUID)) == ()


def _with_id(place: str, value: str) -> dict[str, Any]:
    return {"cluster.project": {"id": value}} if place == "cluster.project.id" else {place: value}


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        (f"{POOL}.availabilityDomain", "AD-9"),
        (f"{POOL}.availabilityDomain", "somewhere"),
        (f"{POOL}.availabilityDomain", "ad-1"),
        (f"{POOL}.imageUri", "http://images.example/gpu"),
        (f"{POOL}.imageUri", "an image"),
        (f"{POOL}.imageUri", "https://user:pw@images.example/gpu"),
        ("cluster.systemPool.shape", "nonsense"),
        ("cluster.addons", [{"name": "CertManager"}, {"name": "certmanager"}]),
    ],
)
def test_oracles_forms(place: str, wrong: Any) -> None:
    refused("oke-h100", {place: wrong}, place)


@pytest.mark.parametrize("domain", ["AD-1", "AD-3", "Uocm:PHX-AD-2", "abCd:US-ASHBURN-AD-1", "xxXX:AP-SYDNEY-1-AD-1"])
def test_availability_domains_as_oracle_writes_them_pass(domain: str) -> None:
    assert findings("oke-h100", {f"{POOL}.availabilityDomain": domain}) == ()


def test_a_bar_of_hundredths_is_shared_by_the_rails() -> None:
    plan = prepare(document("verification", {"verification.bar": 0.03}), for_up=False)

    assert plan.verification is not None
    assert plan.verification.rail_bar is not None
    assert 0 < plan.verification.rail_bar.value < 0.03


def texts(value: Any, place: str = "") -> Iterator[str]:
    """The places of all texts of a stack file."""
    if isinstance(value, str):
        yield place
    elif isinstance(value, dict):
        for key, entry in value.items():
            if "." not in key:
                yield from texts(entry, f"{place}.{key}".lstrip("."))
    elif isinstance(value, list):
        for number, entry in enumerate(value):
            yield from texts(entry, f"{place}[{number}]")


PLACES = [(stack, place) for stack in STACKS for place in texts(read_document(stack, folder_of(stack)).sections)]
NASTY = (
    "a\0b",
    "a\n",
    "\n",
    ".",
    "..",
    "~nobody-is-called-so/config",
    "x" * 300,
    "é" * 200,
    "a/b",
    "a b",
    "-",
    "%s",
    "\u2028",
)


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(PLACES), st.sampled_from(NASTY) | st.text(max_size=20))
def test_no_text_anywhere_ends_in_a_traceback(where: tuple[str, str], text: str) -> None:
    stack, place = where
    with suppress(ConfigurationError):
        prepare(document(stack, {place: text}), for_up=True)
