"""Secrets that a stack file names: where their content gets, that it shows nowhere else, and what a wrong one does."""

import base64
import json
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pulumi
import pytest
from programs import STACKS, run_program, stack_config
from recording import Recording

from components.engine.secret_keys import secret_configuration

PRIVATE = "-----BEGIN PRIVATE KEY----- c0ntent-of-the-key"
CERTIFICATE = {"certificate": "our certificate", "key": PRIVATE, "authority": "our authority"}
LOGIN = json.dumps({"auths": {"mirror.example": {"auth": "c2VjcmV0LWxvZ2lu"}}})
# The stack, its software, and the secret with its content.
CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "login": ("host-device", {"imagePullSecrets": [{"name": "mirror", "secret": "login"}]}, LOGIN),
    "certificate": (
        "spiderpool-macvlan",
        {"spiderpool": {"tls": {"method": "provided", "secret": "certificate"}}},
        json.dumps(CERTIFICATE),
    ),
}
Run = Callable[..., Recording]


@pytest.fixture
def run(kubeconfig: Path) -> Run:
    def with_secret(name: str, content: str | None = None) -> Recording:
        stack, software, good = CASES[name]
        config = stack_config(STACKS[stack], kubeconfig)
        config.setdefault("gpu-fabric:software", {}).update(software)
        return run_program(stack, config, secrets={f"gpu-fabric:{name}": good if content is None else content})

    return with_secret


def shown(recording: Recording, *secret: str) -> str:
    """All inputs and outputs but those that may hold the secret."""
    others = [entry.inputs for entry in recording.resources if not entry.name.startswith(secret)]
    return json.dumps([others, recording.outputs], default=str)


def test_a_login_is_a_secret_in_every_namespace_before_its_releases_and_nowhere_else(run: Run) -> None:
    recording = run("login")
    found = recording.of_type("core/v1:Secret")

    namespaces = {entry.inputs["metadata"]["namespace"] for entry in found}
    assert namespaces == {"default", "gpu-operator", "nvidia-network-operator"}
    for entry in found:
        assert entry.inputs["type"] == "kubernetes.io/dockerconfigjson"
        assert base64.b64decode(entry.inputs["data"][".dockerconfigjson"]).decode() == LOGIN
        assert "data" in entry.secrets
    releases = recording.of_type("Release")
    assert releases
    for release in releases:
        assert recording.comes_after(release.name, f"namespaces-mirror-{release.inputs['namespace']}")
    text = shown(recording, "namespaces-mirror-")
    assert "c2VjcmV0LWxvZ2lu" not in text
    assert base64.b64encode(LOGIN.encode()).decode() not in text


def test_a_certificate_reaches_the_chart_as_a_secret_and_shows_nowhere_else(run: Run) -> None:
    recording = run("certificate")
    release = recording["spiderpool-spiderpool"]

    assert "values" in release.secrets
    provided = release.inputs["values"]["spiderpoolController"]["tls"]["provided"]
    written = {name: base64.b64decode(value).decode() for name, value in provided.items()}
    assert written == {"tlsCert": "our certificate", "tlsKey": PRIVATE, "tlsCa": "our authority"}
    text = shown(recording, "spiderpool-spiderpool")
    assert PRIVATE not in text
    assert base64.b64encode(PRIVATE.encode()).decode() not in text


NO_LOGIN, NO_TEXT = "or no Docker configuration", "or no JSON with the text '{}'"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        *(
            ("login", content, NO_LOGIN)
            for content in ("", "c0ntent", '["c0ntent"]', '{"auths": "c0ntent"}', '{"auths": {}}', "{}")
        ),
        *(("certificate", content, NO_TEXT.format("certificate")) for content in ("", PRIVATE, f'["{PRIVATE}"]')),
        ("certificate", json.dumps({**CERTIFICATE, "authority": [PRIVATE]}), NO_TEXT.format("authority")),
    ],
)
def test_a_secret_of_another_form_ends_the_run_by_its_name_and_never_by_its_content(
    run: Run, name: str, content: str, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        run(name, content)

    assert str(raised.value).startswith(f"the secret {name} is not set, {says}")
    assert "c0ntent" not in "".join(traceback.format_exception(raised.value))
    assert [entry for entry in caplog.records if entry.levelname == "ERROR"] == []


@pytest.mark.parametrize(
    ("written", "found"),
    [
        (("gpu-fabric:admin",), "gpu-fabric:admin"),
        (("acme:admin",), "acme:admin"),
        (("acme:admin", "gpu-fabric:admin"), "gpu-fabric:admin"),
        # The key that a message then names.
        ((), "gpu-fabric:admin"),
    ],
)
def test_a_secret_is_found_under_this_programs_name_and_under_that_of_a_renamed_project(
    written: tuple[str, ...], found: str
) -> None:
    values = dict.fromkeys(written, "a kubeconfig")
    with (
        patch("pulumi.config.get_project", lambda: "acme"),
        patch("pulumi.runtime.config.get_config", lambda key, default=None: values.get(key, default)),
    ):
        assert secret_configuration("admin").full_key("admin") == found
