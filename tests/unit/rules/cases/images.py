"""Cases of the group `images`."""

from __future__ import annotations

from rules.tables import bad, good, irrelevant

_KEY = "software.registries"
_EVERY = {"*": "mirror.example"}

_PULL = "software.imagePullSecrets"
_CREATED = {_PULL: [{"name": "mirror", "secret": "mirror-login"}]}
_GPU_DRIVER = "software.gpuOperator.values.driver.imagePullSecrets"
_NFD = "software.gpuOperator.values.node-feature-discovery.imagePullSecrets"

CASES = (
    good("IMG001", "host-device", {_KEY: _EVERY}),
    good("IMG001", "guide-23-10", {_KEY: _EVERY}),
    bad("IMG001", "dev", {_KEY: {"nvcr.io": "mirror.example"}}),
    bad("IMG001", "host-device", {_KEY: {"quay.io": "mirror.example"}}, _KEY, _KEY),
    irrelevant("IMG001", "host-device"),
    good("IMG002", "host-device", {_KEY: _EVERY, "software.charts": "oci://mirror.example/charts"}),
    good("IMG002", "host-device", {_KEY: _EVERY, "software.charts": "bundled"}),
    bad("IMG002", "host-device", {_KEY: _EVERY, "software.charts": "upstream"}),
    irrelevant("IMG002", "host-device", {"software.charts": "upstream"}),
    good("IMG003", "host-device", {_KEY: _EVERY}),
    bad("IMG003", "doks-h200", {_KEY: _EVERY}),
    bad("IMG003", "host-device", {_KEY: _EVERY, "software.schedulers.kueue": {"values": {"enableKueueViz": True}}},
        _KEY),
    irrelevant("IMG003", "doks-h200"),
    good("IMG005", "dev", {"software.hostImage": "mirror.example:5000/busybox:1.36"}),
    good("IMG005", "dev", {"fabric.check": {"image": f"rdma-tools@sha256:{'0' * 64}"}}),
    bad("IMG005", "dev", {"software.hostImage": "mirror.example:5000/busybox"}),
    bad("IMG005", "dev", {"fabric.check": {"image": "rdma-tools:latest"}}, ".image"),
    bad("IMG005", "dev", {"verification": {"enabled": True, "image": "tests:latest", "bar": 10}}, ".image"),
    bad("IMG005", "dev", {"software.schedulers.mpiOperator": {"image": "mpi-operator:master"}}, ".image"),
    irrelevant("IMG005", "dev", {"verification": {"image": "tests:latest"}}),
    good("IMG006", "host-device", _CREATED),
    good("IMG006", "doks-mi325x", {_PULL: [{"name": "mirror"}]}),
    bad("IMG006", "host-device", {_PULL: [{"name": "first", "secret": "mirror-login"}, {"name": "second"}]}, "[1]"),
    irrelevant("IMG006", "host-device"),
    good("IMG007", "host-device", _CREATED),
    bad("IMG007", "spiderpool-macvlan", _CREATED),
    good("IMG007", "host-device", {"software.schedulers.volcano": {}, **_CREATED}),
    bad("IMG007", "host-device", {"software.schedulers.volcano": {},
        _PULL: [{"name": name, "secret": name} for name in ("one", "two")]}),
    irrelevant("IMG007", "spiderpool-macvlan"),
    good("IMG008", "host-device", {**_CREATED, _GPU_DRIVER: ["other", "mirror"], _NFD: [{"name": "mirror"}]}),
    bad("IMG008", "host-device", {**_CREATED, _GPU_DRIVER: ["other"], _NFD: []}, _GPU_DRIVER, _NFD),
    irrelevant("IMG008", "host-device", {_GPU_DRIVER: ["other"]}),
)  # fmt: skip
