"""The DaemonSet: its written form, and what the API server would refuse or a pod would never start with."""

from typing import Any

import pytest
from pydantic import ValidationError

from gpu_fabric.k8s.apps import DaemonSetSpec

LABELS = {"app": "host-preparation"}
WRITTEN: dict[str, Any] = {
    "selector": {"matchLabels": LABELS},
    "template": {
        "metadata": {"labels": LABELS},
        "spec": {
            "initContainers": [{"name": "install", "image": "registry/cni:v1"}],
            "containers": [
                {
                    "name": "functions",
                    "image": "registry/shell:v1",
                    "volumeMounts": [
                        {"name": "scripts", "mountPath": "/scripts", "readOnly": True},
                        {"name": "sys", "mountPath": "/sys", "mountPropagation": "Bidirectional"},
                        {"name": "work", "mountPath": "/work"},
                    ],
                    "securityContext": {"privileged": True},
                }
            ],
            "volumes": [
                {"name": "sys", "hostPath": {"path": "/sys"}},
                {"name": "scripts", "configMap": {"name": "host-preparation", "defaultMode": 0o755}},
                {"name": "work", "emptyDir": {}},
            ],
        },
    },
}


def pod(**changes: object) -> dict[str, Any]:
    """The specification above with another pod."""
    template = WRITTEN["template"]
    return {**WRITTEN, "template": {**template, "spec": {**template["spec"], **changes}}}


def container(**changes: object) -> dict[str, Any]:
    """The specification above with another container."""
    return pod(containers=[{**WRITTEN["template"]["spec"]["containers"][0], **changes}])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({**WRITTEN, "selector": {}}, "need selector.matchLabels"),
        (
            {**WRITTEN, "selector": {"matchLabels": {"app": "other"}}},
            r"\{'app': 'other'\} are not among the template's labels",
        ),
        ({**WRITTEN, "updateStrategy": {"type": "OnDelete"}}, "Input should be 'RollingUpdate'"),
        ({**WRITTEN, "updateStrategy": {"rollingUpdate": {"maxUnavailable": "1"}}}, "write 1 without quotes"),
        (pod(containers=[]), "at least 1 item"),
        (pod(volumes=None, initContainers=None), "functions mounts volume scripts, which the pod has not"),
        (pod(initContainers=WRITTEN["template"]["spec"]["containers"]), "container functions is given twice"),
        (pod(volumes=[*WRITTEN["template"]["spec"]["volumes"], {"name": "work", "emptyDir": {}}]), "volume work is"),
        (pod(volumes=[{"name": "work"}]), "needs one of hostPath, configMap and emptyDir"),
        (pod(volumes=[{"name": "work", "emptyDir": {}, "hostPath": {"path": "/w"}}]), "needs one of hostPath"),
        (pod(volumes=[{"name": "work", "hostPath": {"path": "sys"}}]), "should match pattern"),
        (pod(volumes=[{"name": "work", "configMap": {"name": "a", "defaultMode": 755}}]), "less than or equal to 511"),
        (
            pod(
                initContainers=[{"name": "wait", "image": "a", "readinessProbe": {"exec": {"command": ["/bin/true"]}}}]
            ),
            "init container wait takes no readinessProbe",
        ),
        (container(image=""), "at least 1 character"),
        (container(securityContext=None), "only a privileged one may mount sys Bidirectional"),
        (container(name="Functions"), "should match pattern"),
        (container(resources={"limits": {"memory": "64 MB"}}), "should match pattern"),
        (
            container(volumeMounts=[{"name": "work", "mountPath": "/a"}, {"name": "sys", "mountPath": "/a"}]),
            "mountPath /a is given twice",
        ),
        (container(readinessProbe={"exec": {"command": []}}), "at least 1 item"),
        (container(readinessprobe={}), r"did you mean readinessProbe\?"),
    ],
)
def test_a_daemon_set_that_the_api_server_would_refuse_is_refused(spec: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        DaemonSetSpec.model_validate(spec)


def test_what_is_changed_in_these_is_taken_without_the_change() -> None:
    assert DaemonSetSpec.model_validate(WRITTEN).to_dict() == WRITTEN
