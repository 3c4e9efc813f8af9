"""The two programs next to a built CLI that run Python: the language host, and the plug-in for dynamic resources.

Both run the interpreter of the virtual environment that the project's file names (`runtime.options.virtualenv`), as
those of the CLI's distributions do.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from ..home import project_root, write_private

AMBIENT_PYTHON = "GPU_FABRIC_AMBIENT_PYTHON"
"""Set for runs of the sandbox's own commands: the first `python3` on PATH runs the program, which is this one."""

HOST = "pulumi-language-python"
DYNAMIC = "pulumi-resource-pulumi-python"

# The CLI sends a runtime's options with each request, which this version of the host does not read: it takes them as
# arguments, as the CLIs of its time passed them (pulumi/sdk/v3.78.1/python/cmd/pulumi-language-python/main.go). Without
# them `pulumi install` creates a virtual environment in the project's own folder.
_HOST = """#!/bin/sh
option() {{
    sed -nE "s/^[^#]*virtualenv:[[:space:]]*[\\"']?([^\\"',}}#[:space:]]+).*/\\1/p" "$1" | head -n 1
}}
folder=$PWD
while [ -z "${{{ambient}:-}}" ]; do
    for name in Pulumi.yaml PulumiPolicy.yaml PulumiPlugin.yaml; do
        if [ -f "$folder/$name" ]; then
            chosen=$(option "$folder/$name")
            [ -z "$chosen" ] || set -- -root "$folder" -virtualenv "$chosen" "$@"
            break 2
        fi
    done
    [ "$folder" != / ] || break
    folder=$(dirname "$folder")
done
exec {host} "$@"
"""

# The CLI's distributions include this program, which starts the SDK's plug-in for dynamic resources. It finds their
# code in the project, whatever folder the command was started in; the engine gives it the project's options.
_DYNAMIC = """#!/bin/sh
export PYTHONPATH={root}${{PYTHONPATH:+:$PYTHONPATH}}
python=python3
if [ -z "${{{ambient}:-}}" ] && [ -n "${{PULUMI_RUNTIME_VIRTUALENV:-}}" ]; then
    python=${{PULUMI_RUNTIME_VIRTUALENV%/}}/bin/python
fi
exec "$python" -u -m pulumi.dynamic "$@"
"""


def place_host(folder: Path, host: Path) -> None:
    """Put the launcher of a built language host into the CLI's folder."""
    _place(folder / HOST, _HOST.format(ambient=AMBIENT_PYTHON, host=shlex.quote(str(host))))


def place_dynamic(folder: Path) -> None:
    """Put the plug-in for dynamic resources into the CLI's folder."""
    _place(folder / DYNAMIC, _DYNAMIC.format(ambient=AMBIENT_PYTHON, root=shlex.quote(str(project_root()))))


def _place(program: Path, text: str) -> None:
    if not program.exists() or program.read_bytes() != text.encode():
        # Never in place: an earlier version had a hard link to the built host here.
        write_private(program, text)
        program.chmod(0o700)
