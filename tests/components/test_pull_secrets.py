"""Secrets for pulling images: what Pulumi records of them, and what a content that is none leads to."""

from __future__ import annotations

import base64
import json
import traceback
from pathlib import Path

import pulumi
import pytest
from programs import STACKS, run_program, stack_config
from recording import Recording

pytestmark = pytest.mark.components

LOGIN = json.dumps({"auths": {"mirror.example": {"auth": "c2VjcmV0LWxvZ2lu"}}})


def with_login(kubeconfig: Path, content: str) -> Recording:
    """A stack whose images' login is in the secret key `mirror-login`."""
    config = stack_config(STACKS["host-device"], kubeconfig)
    config.setdefault("gpu-fabric:software", {})["imagePullSecrets"] = [{"name": "mirror", "secret": "mirror-login"}]
    return run_program("host-device", config, secrets={"gpu-fabric:mirror-login": content})


def test_the_secret_has_the_login_in_every_namespace_and_pulumi_keeps_it_as_a_secret(kubeconfig: Path) -> None:
    found = with_login(kubeconfig, LOGIN).of_type("core/v1:Secret")

    assert {entry.inputs["metadata"]["namespace"] for entry in found} == {
        "default",
        "gpu-operator",
        "nvidia-network-operator",
    }
    for entry in found:
        assert entry.inputs["type"] == "kubernetes.io/dockerconfigjson"
        assert base64.b64decode(entry.inputs["data"][".dockerconfigjson"]).decode() == LOGIN
        assert "data" in entry.secrets


def test_every_release_comes_after_the_secret_of_its_namespace(kubeconfig: Path) -> None:
    recording = with_login(kubeconfig, LOGIN)
    releases = recording.of_type("Release")

    assert releases
    for release in releases:
        assert recording.comes_after(release.name, f"namespaces-mirror-{release.inputs['namespace']}")


def test_the_login_shows_nowhere_else(kubeconfig: Path) -> None:
    recording = with_login(kubeconfig, LOGIN)
    others = [entry.inputs for entry in recording.resources if not entry.name.startswith("namespaces-mirror-")]
    text = json.dumps([others, recording.outputs], default=str)

    assert "c2VjcmV0LWxvZ2lu" not in text
    assert base64.b64encode(LOGIN.encode()).decode() not in text


@pytest.mark.parametrize("content", ["", "c2VjcmV0", '["c2VjcmV0"]', '{"auths": "c2VjcmV0"}', '{"auths": {}}', "{}"])
def test_a_secret_that_is_no_login_ends_the_run_by_its_name_and_never_by_its_content(
    kubeconfig: Path, content: str
) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        with_login(kubeconfig, content)

    assert str(raised.value).startswith("the secret mirror-login is not set, or no Docker configuration")
    assert "c2VjcmV0" not in "".join(traceback.format_exception(raised.value))
