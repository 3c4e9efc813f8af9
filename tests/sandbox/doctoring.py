"""The command that names and mends damages, as tests drive it, and what several of them plant."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from driver import Sandbox

from sandbox.home import project_root
from sandbox.kubernetes_api import ApiError

Json = dict[str, Any]
SECRETS = "/api/v1/namespaces/gpu-operator/secrets"
VALIDATING = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
_QUESTION, _LIMIT_S = "Do this? [y/N]: ", 240


class Doctor:
    """The command as a user types it, with the sandbox's kubectl and its workspace of Pulumi.

    `named` and `mended` collect the rules of what it has named, and of what it has mended, in any of its runs.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox
        self.named: set[str] = set()
        self.mended: set[str] = set()

    def run(self, *options: str) -> tuple[int, Json]:
        """Exit status and what it prints as JSON."""
        return self.read(self.sandbox.command("doctor", *self.sandbox.options, "--json", *options))

    def own(self, *options: str) -> tuple[int, Json]:
        """The same by `gpu-fabric doctor`, with the user's own kubectl and pulumi."""
        sandbox = self.sandbox
        command = [sys.executable, "-m", "gpu_fabric", "doctor", "-f", str(sandbox.workspace.stack_file(sandbox.stack))]
        kubeconfig = [] if "--kubeconfig" in options else ["--kubeconfig", str(sandbox.home.kubeconfig)]
        return self.read([*command, *kubeconfig, "--json", *options], in_workspace=True)

    def read(self, command: list[str], *, in_workspace: bool = False) -> tuple[int, Json]:
        """Exit status of a command and its JSON."""
        sandbox = self.sandbox
        own = {
            **sandbox.workspace.environment(),
            "KUBECTL": str(sandbox.home.root / "bin" / "kubectl"),
            "PYTHONPATH": str(project_root()),
        }
        result = subprocess.run(
            command,
            cwd=sandbox.workspace.stacks if in_workspace else project_root(),
            env=own if in_workspace else sandbox.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
        assert result.returncode in (0, 1), result.stderr
        document: Json = json.loads(result.stdout)
        before, left = ({entry["id"] for entry in document[key]} for key in ("findings", "remaining"))
        self.named |= before
        if document["mended"]:
            self.mended |= before - left
        return result.returncode, document

    def found(self, *options: str) -> list[str]:
        return sorted(entry["id"] for entry in self.run(*options)[1]["findings"])

    def mends(self, *rules: str, leaves: tuple[str, ...] = ()) -> Json:
        """It names just these, mends all but those it leaves when asked to, and then does nothing any more."""
        assert self.found() == sorted((*rules, *leaves))
        status, done = self.run("--yes")
        assert (status, [entry["id"] for entry in done["remaining"]]) == (1 if leaves else 0, [*leaves]), done
        assert done["mended"]
        assert all(line.startswith("mended: ") for line in done["mended"])
        left = done["remaining"]
        assert self.run("--yes") == (
            status,
            {**done, "findings": left, "damages": left, "mended": [], "remaining": left},
        )
        return done

    def answered(self, *answers: str, mends: tuple[str, ...]) -> str:
        """What it prints on a terminal of 80 columns, where each of its questions gets one of these answers."""
        named = set(self.found())
        here, there = pty.openpty()
        process = subprocess.Popen(
            self.sandbox.command("doctor", *self.sandbox.options),
            cwd=project_root(),
            env={**self.sandbox.environment, "COLUMNS": "80", "TERM": "dumb"},
            stdin=there,
            stdout=there,
            stderr=there,
        )
        os.close(there)
        printed, waiting, end = "", list(answers), time.monotonic() + _LIMIT_S
        while time.monotonic() < end:
            if not select.select([here], [], [], 0.2)[0]:
                continue
            try:
                printed += os.read(here, 65536).decode()
            except OSError:
                # The other end is closed: the command has ended.
                break
            if printed.endswith(_QUESTION):
                assert waiting, f"one question more than was expected:\n{printed}"
                os.write(here, f"{waiting.pop(0)}\n".encode())
        process.wait()
        os.close(here)
        assert not waiting, f"not all questions were asked:\n{printed}"
        assert set(mends) <= named
        assert not set(mends) & set(self.found()), printed
        self.mended |= set(mends)
        return printed

    def has_done(self, planted: pytest.Mark | None) -> None:
        """What a test says to plant was mended, or named; a test that plants nothing says nothing."""
        said: dict[str, tuple[str, ...]] = {} if planted is None else dict(planted.kwargs)
        assert set(said.get("mended", ())) <= self.mended, self.mended
        assert set(said.get("named", ())) <= self.named, self.named

    def rolls_back(self, found: Json) -> None:
        """Run the command that a damage names for the user's hand: Helm's, with the sandbox's cluster."""
        (command,) = re.findall(r"`helm (.*?)`", found["remedy"])
        self.sandbox.helm(*command.split())


_NOT_FOUND, _STORAGE_OPENS = 404, 429


def exists(sandbox: Sandbox, path: str) -> bool:
    """Whether there is an object at a path."""
    return is_answered(lambda: sandbox.api.get(path), (_NOT_FOUND,))


def is_answered(request: Callable[[], object], none: tuple[int, ...] = (_NOT_FOUND, _STORAGE_OPENS)) -> bool:
    """Whether the API server answers a request, and not that it does not know the kind, or opens its storage again."""
    try:
        request()
    except ApiError as error:
        if error.status in none:
            return False
        raise
    return True


def hook(name: str, namespace: str, service: str, **about: Any) -> Json:
    """A webhook configuration that asks a Service about every job that is created."""
    kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    rule = {"operations": ["CREATE"], "apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"]}
    entry = {
        "name": f"jobs.{name}.example",
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": namespace, "name": service}},
        "rules": [rule],
        **about,
    }
    return {**kind, "metadata": {"name": name}, "webhooks": [entry]}


def definition(group: str, kind: str, version: str, scope: str) -> Json:
    """A definition of a kind that takes any content."""
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": scope,
            "names": {"kind": kind, "listKind": f"{kind}List", "plural": plural, "singular": kind.lower()},
            "versions": [{"name": version, "served": True, "storage": True, "schema": schema}],
        },
    }


def newest_record(sandbox: Sandbox) -> Json:
    """Helm's newest record of the GPU Operator."""
    secrets = [item for item in sandbox.items(SECRETS) if item["metadata"]["labels"].get("name") == "gpu-operator"]
    return max(secrets, key=lambda item: int(item["metadata"]["labels"]["version"]))


def plant_release(sandbox: Sandbox, status: str, **labels: str) -> str:
    """A revision that Helm began and did not end, after the newest one; gives its path."""
    newest = newest_record(sandbox)
    number = int(newest["metadata"]["labels"]["version"]) + 1
    name = f"sh.helm.release.v1.gpu-operator.v{number}"
    changed = {**newest["metadata"]["labels"], "version": str(number), "status": status, **labels}
    secret = {"type": newest["type"], "data": newest["data"], "metadata": {"name": name, "labels": changed}}
    sandbox.api.post(SECRETS, {"apiVersion": "v1", "kind": "Secret", **secret})
    return f"{SECRETS}/{name}"
