"""Forms of what a stack file names: others are refused at their place, with the form.

Which key is refused by which rule is in `tests/negative`; here are the corners of each form, most of all a text that
goes on after its end.
"""

from typing import Any

import pytest
from changes import changed
from committed_stacks import folder_of
from each_case import each

from gpu_fabric.base.grammar import is_image, moves
from gpu_fabric.findings import Finding
from gpu_fabric.spec.load import read_document, validate

POOL = "cluster.pools[0]"
LAB = "cluster.shapes.lab"
OKE = "oke-h100-26-4"
MACHINE = {
    "gpus": {"vendor": "nvidia", "count": 8},
    "nicModel": {"vendorId": "15b3", "deviceId": "1021", "linkType": "ether"},
    "nics": [{"pci": "0000:0c:00.0", "interface": "rdma0", "rdmaDevice": "mlx5_0"}],
}
KEYS = {"ufmSecret": "ufm", "guidRangeStart": "02:00:00:00:00:00:00:01", "guidRangeEnd": "02:ff:ff:ff:ff:ff:ff:ff"}
SSO = {"issuerUrl": "https://issuer.example", "clientId": "a"}
UUID = "5a4981aa-9653-4bd1-bef5-d6bff52042e4"

INTERFACES = (".", "..", "lo", "all", "default", "ens1\n", "\nens1", "a/b", "a:b", "a b", "x" * 16, "")
ADDRESSES = ("0000:20:00.0\n", "0000:20:20.0", "0000:20:00.8", "20:00.0", "0000:2G:00.0")
PCI_IDS = ("15b3\n", "15B3", "0x15b3", "15b")
DEVICES = ("=mlx5_1", "^mlx5_1", "mlx5 1", "mlx5_1\nFOO=1", "mlx5_1\n", "a,b", "mlx5_1:1", "", "x" * 64)
IMAGES = (
    *("not an image", "UPPER case:::", "reg.io/Upper:1", "a:b:c", "a@sha256:12", "a//b", "a:1\n", ":1"),
    "https://a/b:1",
)
REGISTRIES = (
    "mirror.example:70000",
    "mirror.example:0/a",
    "-mirror.example",
    "mirror..example/a",
    "mirror.example/a\n",
)
ISSUERS = ("not a url", "http://issuer.example", "https://user:secret@issuer.example")
GUIDS = ("00:" * 7 + "00", "ff:" * 7 + "ff", "02:00", "02-00-00-00-00-00-00-01", "02:00:00:00:00:00:00:0g")
UUIDS = (
    *("default-nyc2", "do:vpc:" + UUID, UUID.upper(), UUID.replace("-", ""), UUID[:-1], UUID + "\n"),
    *("{" + UUID + "}", "5a4981ag-9653-4bd1-bef5-d6bff52042e4"),
)
LABELS: tuple[dict[str, str], ...] = (
    *({"a": "b\n"}, {"a\n": "b"}, {"a..b/c": "d"}, {"a-.b/c": "d"}, {".a/b": "c"}, {"A.b/c": "d"}, {"/a": "b"}),
    *({"a": "-b"}, {"x" * 254 + "/a": "b"}, {"x" * 64 + ".y/a": "b"}),
)
# What Oracle's ids name, by key.
OCIDS = {
    "cluster.compartmentId": "compartment",
    "cluster.tenancyId": "tenancy",
    "cluster.vcn.id": "vcn",
    "cluster.vcn.subnetIds.workers": "subnet",
    "cluster.vcn.routeTableIds.private": "routetable",
    "cluster.identity.dynamicGroupId": "dynamicgroup",
    "cluster.systemPool.imageId": "image",
    "cluster.access.bastion.imageId": "image",
    f"{POOL}.imageId": "image",
    f"{POOL}.capacityReservationId": "capacityreservation",
    "cluster.kmsKeyId": "key",
    f"{POOL}.hpcIslandId": "hpcisland",
}
NO_OCIDS = ("ocid1.instance.oc1.iad.aaaa", "{0}", "ocid1.{0}", "ocid2.{0}.oc1..aaaa", "ocid1.{0}.oc1..a b")
OF_ANY_KIND = ("iad", "ocid1..oc1.iad.aaaa", "ocid1.anykind.aaaa", "ocid1.image.oc1.iad.aaaa", "ocid1.key.oc1.iad.a")
RANGES = ("10.140.0.1/16", "10.140.0.0/33", "10.140.0.0-10.140.0.9", "ten")
PARTITIONS = "software.networkOperator.partitionKeys"
# Stack, place, values of which each is refused there.
REFUSED: tuple[tuple[str, str, tuple[Any, ...]], ...] = (
    ("dev", f"{LAB}.nics[0].interface", INTERFACES),
    ("dev", f"{LAB}.nics[0].pci", ADDRESSES),
    ("dev", f"{LAB}.nics[0].rdmaDevice", DEVICES),
    *(("dev", f"{LAB}.nicModel.{key}", PCI_IDS) for key in ("vendorId", "deviceId", "vfDeviceId")),
    ("dev", "fabric.rails[0].interface", INTERFACES),
    ("dev", "fabric.rails[0].pci", ADDRESSES),
    ("roce-macvlan", "fabric.rails[0].rdmaDevice", DEVICES),
    ("dev", f"{POOL}.labels", LABELS),
    *(("dev", f"{POOL}.taints[0].{key}", ("gpu\n",)) for key in ("key", "value")),
    *(("dev", place, IMAGES) for place in ("verification.image", "software.hostImage", "fabric.check.image")),
    *(("doks-h200", place, IMAGES) for place in ("software.multus.image", "software.schedulers.mpiOperator.image")),
    ("dev", "software.registries.*", REGISTRIES),
    ("dev", "software.charts", ("https://mirror.example/charts\n", "https://", "oci://mirror.example:99999/charts")),
    ("dev", "cluster.id", ("an\0id",)),
    ("dev", "cluster.context", ("production\n",)),
    ("dev", "verification.program", ("all_reduce_perf\n-b 8",)),
    ("ib-sriov-pkey", f"{PARTITIONS}.guidRangeStart", GUIDS),
    ("ib-sriov-pkey", f"{PARTITIONS}.ufmSecret", ("Bad Name!",)),
    ("doks-h200", "cluster.systemPool.size", ("foo bar", "S-4VCPU")),
    ("doks-h200", "cluster.singleSignOn.issuerUrl", ISSUERS),
    *(("doks-h200", f"cluster.{key}", UUIDS) for key in ("vpc.id", "project.id", "adopt.vpc", "adopt.cluster")),
    ("doks-h200", "cluster.adopt.pools.gpu", UUIDS),
    ("oke-h100", f"{POOL}.availabilityDomain", ("AD-9", "somewhere", "ad-1")),
    ("oke-h100", f"{POOL}.imageUri", ("http://images.example/gpu", "an image", "https://user:secret@images.example/a")),
    ("oke-h100", "cluster.systemPool.shape", ("nonsense",)),
    *((OKE, place, tuple(text.format(kind) for text in NO_OCIDS)) for place, kind in OCIDS.items()),
    (OKE, f"{POOL}.hostGroupId", OF_ANY_KIND),
    *((OKE, f"cluster.{key}", RANGES) for key in ("vcn.subnets.workers", "ranges.pods", "ranges.services")),
    *((OKE, f"cluster.{key}.allowed[1]", ("203.0.113.7/24",)) for key in ("endpoint", "access")),
    ("oke-h100", "cluster.addons", ([{"name": "CertManager"}, {"name": "certmanager"}],)),
)
# What the file must hold around a place of these.
AROUND = {
    LAB: {LAB: MACHINE, f"{POOL}.shape": "lab"},
    "fabric.rails[0]": {"fabric.rails": [{"rail": 0}]},
    f"{POOL}.taints[0]": {f"{POOL}.taints": [{"key": "dedicated", "value": "gpu"}]},
    PARTITIONS: {PARTITIONS: KEYS},
    "cluster.singleSignOn": {"cluster.singleSignOn": SSO},
    "cluster.project": {"cluster.project": {}},
    **{f"cluster.{key}.allowed": {f"cluster.{key}.allowed": ["203.0.113.0/24", ""]} for key in ("endpoint", "access")},
}
REMEDIES = {id(IMAGES): "such as registry.example.com/tests:1.0", id(UUIDS): "a UUID in lower case"}


def findings(stack: str, place: str, value: Any) -> tuple[Finding, ...]:
    around = next((whole for start, whole in AROUND.items() if place.startswith(start)), {})
    document = changed(read_document(stack, folder_of(stack)), around)
    return validate(changed(document, {place: value}))[1]


@each(("stack", "place", "wrong"), REFUSED)
def test_a_value_of_another_form_is_refused_at_its_place(stack: str, place: str, wrong: tuple[Any, ...]) -> None:
    for value in wrong:
        (only,) = findings(stack, place, value)

        assert (only.id, only.path) == ("SPC002", f"gpu-fabric:{place}"), value
        assert REMEDIES.get(id(wrong), "") in only.remedy
        assert only.remedy
        assert "secret@" not in only.message + only.remedy


@pytest.mark.parametrize("other", [{}, {"value": "b"}])
def test_a_taint_is_listed_once_for_a_key_and_an_effect(other: dict[str, str]) -> None:
    taint = {"key": "dedicated", "value": "a"}
    (said,) = findings("dev", f"{POOL}.taints", [taint, {**taint, **other}])

    assert "dedicated:NoSchedule is there twice" in said.message
    assert findings("dev", f"{POOL}.taints", [taint, {**taint, "effect": "NoExecute"}]) == ()


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


@each(
    ("stack", "place", "value"),
    [
        *(("doks-h200", f"cluster.{key}", UUID) for key in ("vpc.id", "project.id", "adopt.vpc", "adopt.cluster")),
        *(("oke-h100", f"{POOL}.availabilityDomain", name) for name in ("AD-3", "Uocm:PHX-AD-2", "x:AP-SYDNEY-1-AD-1")),
        ("ib-sriov-pkey", f"{PARTITIONS}.guidRangeStart", KEYS["guidRangeStart"]),
        *(
            (OKE, place, f"ocid1.{kind}.{rest}")
            for place, kind in {**OCIDS, f"{POOL}.hostGroupId": "anykind"}.items()
            for rest in ("oc1.iad.aaaaaaaaexample", "oc2.us-gov-ashburn-1.a", "oc1..a")
        ),
    ],
)
def test_a_value_in_the_clouds_own_form_is_taken(stack: str, place: str, value: str) -> None:
    assert findings(stack, place, value) == ()
