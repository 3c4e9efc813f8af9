"""The engine's workspace inside a sandbox, apart from the user's own: state, plug-ins, passphrase and stack files.

Launchers replace a cloud's programs, which are provider plug-ins and command lines.
"""

from __future__ import annotations

import json
import os
import secrets
import shlex
import shutil
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from gpu_fabric.base.cloud_plugins import PLUGIN_VERSIONS
from gpu_fabric.base.cloud_time import MINUTE_VARIABLE
from gpu_fabric.base.yaml_files import as_yaml
from gpu_fabric.live.engine_run import RECORDING
from gpu_fabric.live.state import Lock, StackState
from ..cloud.account import account_token
from ..cloud.clock import MINUTE_S
from ..cloud.oci.credentials import environment as oracle_account
from ..home import HOME_VARIABLE, PACKAGE, SandboxHome, default_home, project_root, write_private
from ..toolchain.build import Toolchain
from ..toolchain.recipes import recipes
from .python_programs import AMBIENT_PYTHON, HOST, place_dynamic, place_host

# Environment variables that would give the engine or a cloud's SDK the user's own accounts and settings.
_FOREIGN = ("PULUMI_CONFIG_PASSPHRASE", "PULUMI_ACCESS_TOKEN", "PULUMI_STACK", "PULUMI_API", "KUBECONFIG")
_FOREIGN_PREFIXES = ("DIGITALOCEAN_", "SPACES_", "OCI_", "TF_VAR_")
# Keys of a stack file for the user's own engine: the encryption of its secrets, environments at Pulumi's service (which
# a backend in a folder cannot open), and the settings of clouds.
ENCRYPTION_KEYS = ("secretsprovider", "encryptedkey", "encryptionsalt")
_FOREIGN_KEYS = (*ENCRYPTION_KEYS, "environment")
_CLOUD_SETTINGS = ("digitalocean:", "oci:")


class Workspace:
    """Paths and environment of every engine run on a sandbox stack."""

    def __init__(self, home: SandboxHome) -> None:
        self.home = home
        self.backend = home.pulumi / "backend"
        self.engine_home = home.pulumi / "home"
        self.passphrase = home.pulumi / "passphrase"
        self.stacks = home.pulumi / "stacks"
        self.temporary = home.pulumi / "tmp"
        self.cloud_programs = home.pulumi / "bin"

    @cached_property
    def project(self) -> str:
        """The project's name, from Pulumi.yaml."""
        return str(yaml.safe_load((project_root() / "Pulumi.yaml").read_text())["name"])

    def prepare(self, toolchain: Toolchain) -> None:
        """Put the engine, its plug-ins and the passphrase into place; idempotent."""
        self.home.create()
        for folder in (self.home.bin, self.backend, self.engine_home, self.stacks, self.temporary):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.passphrase.exists():
            write_private(self.passphrase, secrets.token_urlsafe(32))
        command, *host = toolchain.engine_programs()
        _place(command, self.home.bin / command.name)
        # The vendor's host reads the project's options by itself.
        beside = self.home.bin / "python-host" if toolchain.builds_engine else self.home.bin
        beside.mkdir(mode=0o700, exist_ok=True)
        for program in host:
            _place(program, beside / program.name)
        if toolchain.builds_engine:
            place_host(self.home.bin, beside / HOST)
        place_dynamic(self.home.bin)
        for recipe in recipes().values():
            if recipe.plugin:
                folder = self.engine_home / "plugins" / f"resource-{recipe.plugin.name}-v{recipe.plugin.version}"
                folder.mkdir(parents=True, exist_ok=True)
                _place(toolchain.folder(recipe.name) / recipe.outputs[0], folder / recipe.outputs[0])
        place_clouds(self.engine_home, self.cloud_programs)
        # commands that need no program run in here, next to the stack files that the engine may write
        project = (project_root() / "Pulumi.yaml").read_text()
        if not (self.stacks / "Pulumi.yaml").exists() or (self.stacks / "Pulumi.yaml").read_text() != project:
            write_private(self.stacks / "Pulumi.yaml", project)

    @property
    def command(self) -> str:
        """The Pulumi CLI."""
        return str(self.home.bin / "pulumi")

    def environment(self) -> dict[str, str]:
        """The user's environment with everything replaced that would lead the engine out of the sandbox."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in _FOREIGN and not name.upper().startswith(_FOREIGN_PREFIXES)
        }
        # the folder of this interpreter first: the language host runs the `python3` it finds on PATH
        path = [str(Path(sys.executable).parent), str(self.cloud_programs), str(self.home.bin), kept.get("PATH", "")]
        token = account_token(self.home)
        return {
            **kept,
            "PATH": os.pathsep.join(path),
            AMBIENT_PYTHON: "1",
            # the simulated clouds keep their state here, run at this speed, and accept only these accounts
            HOME_VARIABLE: str(self.home.root),
            MINUTE_VARIABLE: str(MINUTE_S),
            "DIGITALOCEAN_TOKEN": token,
            "DIGITALOCEAN_ACCESS_TOKEN": token,
            **oracle_account(self.home),
            "PULUMI_HOME": str(self.engine_home),
            # Without `metadata=skip` the backend writes `<state>.attrs` next to each state, in place: reading the state
            # during that write, or after the engine was killed there, fails with "failed to load checkpoint: EOF".
            "PULUMI_BACKEND_URL": f"file://{self.backend}?metadata=skip",
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self.passphrase),
            # the Kubernetes plug-in leaves a copy of the kubeconfig behind for every release
            "TMPDIR": str(self.temporary),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            **RECORDING,
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            # a plug-in on the user's PATH would be used, with a warning
            "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
        }

    def stack_config(self, stack: str, committed: Path, sections: Mapping[str, Any] | None = None) -> Path:
        """A copy of the stack's file for the engine to write into: the committed one never changes.

        `sections` replace those of the file; its secrets and the clouds' settings are then left out. The engine's
        encryption salt for the stack is kept. A kubeconfig of the default sandbox becomes this sandbox's, so that
        several sandboxes can run the same stack file side by side.
        """
        copy = self.stack_file(stack)
        content = yaml.safe_load(committed.read_text()) or {}
        document = {key: value for key, value in content.items() if key not in _FOREIGN_KEYS}
        if sections is not None:
            kept = {key: value for key, value in document["config"].items() if not _is_foreign(key, value)}
            document["config"] = kept | {f"gpu-fabric:{name}": part for name, part in sections.items()}
        cluster = (document.get("config") or {}).get("gpu-fabric:cluster")
        if isinstance(cluster, dict) and self.home.root != default_home():
            kubeconfig = cluster.get("kubeconfig")
            if isinstance(kubeconfig, str) and lies_in(kubeconfig, default_home()):
                cluster["kubeconfig"] = str(self.home.kubeconfig)
        if salt := self._salt(stack):
            document["encryptionsalt"] = salt
        write_private(copy, as_yaml(document))
        return copy

    def clear_temporary(self) -> None:
        """Remove what the plug-ins left in their folder for temporary files."""
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.temporary.mkdir(mode=0o700, parents=True, exist_ok=True)

    def stack_file(self, stack: str) -> Path:
        return self.stacks / f"Pulumi.{stack}.yaml"

    def checkpoint(self, stack: str) -> Path:
        """Where the file backend keeps a stack's state."""
        return self.backend / ".pulumi" / "stacks" / self.project / f"{stack}.json"

    def locks(self, stack: str) -> tuple[Lock, ...]:
        """The locks of runs on a stack that are over: the sandbox has one run at a time, which asks for them first."""
        found = (self.backend / ".pulumi" / "locks").glob(f"**/{self.project}/{stack}/*.json")
        return tuple(Lock(file.name, "an interrupted run", "gone") for file in sorted(found))

    def state(self, stack: str) -> StackState | None:
        """A stack's recorded state; None for an unknown stack."""
        try:
            document = json.loads(self.checkpoint(stack).read_text())
        except FileNotFoundError:
            return None
        latest = document.get("checkpoint", {}).get("latest") or {}
        return StackState(
            tuple(latest.get("resources") or ()),
            tuple(latest.get("pending_operations") or ()),
            self.locks(stack),
        )

    def _salt(self, stack: str) -> str | None:
        try:
            document = yaml.safe_load(self.stack_file(stack).read_text()) or {}
        except FileNotFoundError:
            return None
        salt = document.get("encryptionsalt")
        return salt if isinstance(salt, str) else None


def _is_foreign(key: str, value: Any) -> bool:
    """Whether a configuration value is a cloud's setting, or a secret that only the user's own engine can read."""
    return key.startswith(_CLOUD_SETTINGS) or (isinstance(value, dict) and value.keys() == {"secure"})


def lies_in(kubeconfig: str, folder: Path) -> bool:
    """Whether a kubeconfig path, as a stack file writes it, is in a folder."""
    path = (project_root() / Path(kubeconfig).expanduser()).resolve()
    return path.is_relative_to(folder.resolve())


def _place(source: Path, target: Path) -> None:
    """Put a program at a place: as a hard link, since the CLI looks for its language hosts next to its real file."""
    try:
        if target.samefile(source) or target.stat().st_mtime_ns == source.stat().st_mtime_ns:
            return
    except FileNotFoundError:
        pass
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except OSError:  # another file system, or one without links
        shutil.copy2(source, target)


# A cloud's command line -> the module that simulates it.
_COMMANDS = {"doctl": "cloud.doctl", "oci": "cloud.oci.command"}


def place_clouds(engine_home: Path, programs: Path) -> None:
    """Put the simulated clouds into an engine's home, and their command lines into a folder for its PATH."""
    for provider, version in PLUGIN_VERSIONS.items():
        folder = engine_home / "plugins" / f"resource-{provider}-v{version}"
        _place_launcher(folder / f"pulumi-resource-{provider}", "cloud", provider)
    for command, module in _COMMANDS.items():
        _place_launcher(programs / command, module)


def _place_launcher(program: Path, module: str, *arguments: str) -> None:
    """Write a program that runs a module of this package with this interpreter, from any folder."""
    command = shlex.join([sys.executable, "-m", f"{PACKAGE}.{module}", *arguments])
    text = f'#!/bin/sh\nexport PYTHONPATH={shlex.quote(str(project_root()))}\nexec {command} "$@"\n'
    if not program.exists() or program.read_text() != text:
        write_private(program, text)
        program.chmod(0o700)
