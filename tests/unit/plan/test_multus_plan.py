"""Multus where no operator brings it: that its daemon finds its files. The rest is in rows/daemons.yaml."""

from __future__ import annotations

import json

from planned_fabrics import plan_of


def test_the_daemon_finds_its_configuration_and_makes_its_network_of_the_clusters_own() -> None:
    found = {
        entry.object.kind: entry.object.manifest() for entry in plan_of("doks-h200").applied("multus", "multus-daemon")
    }
    template, files = found["DaemonSet"]["spec"]["template"]["spec"], found["ConfigMap"]
    (volume,) = [entry for entry in template["volumes"] if "configMap" in entry]
    (daemon,) = template["containers"]
    (mount,) = [entry for entry in daemon["volumeMounts"] if entry["name"] == volume["name"]]
    configuration = json.loads(files["data"]["daemon-config.json"])

    assert mount["mountPath"] == "/etc/cni/net.d/multus.d"
    assert configuration["multusConfigFile"] == "auto"
    mounted = {entry["mountPath"] for entry in daemon["volumeMounts"]}
    assert {configuration["chrootDir"], configuration["cniConfigDir"], configuration["multusAutoconfigDir"]} <= mounted
    assert configuration["socketDir"].startswith("/host/run/")
