"""`gpu-fabric mcp`: the commands that change nothing, as tools of the Model Context Protocol, over standard streams.

Each tool is a command with its JSON, run in a process of its own: no tool disturbs another, and what a command prints
stays out of the protocol.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from gpu_fabric import __version__
from gpu_fabric.cli.conversation import refuse

_LIMIT_S = 300
_ABOUT = (
    "Plans RDMA fabrics of GPU clusters from stack files (Pulumi.<stack>.yaml), and judges clusters, manifests and "
    "measurements by them. Nothing here changes a cluster, a cloud or a file."
)


def mcp() -> None:
    """Serve plan, diff, explain, attach, verdict and preflight to assistants, read-only, over standard streams."""
    try:
        from mcp.server import MCPServer
        from mcp.types import ToolAnnotations
    except ImportError:
        refuse("this command needs the MCP SDK: `pip install 'gpu-fabric[mcp]'`")
    server = MCPServer("gpu-fabric", instructions=_ABOUT, version=__version__)
    for tool in (plan, diff, explain, attach, verdict, preflight):
        server.tool(annotations=ToolAnnotations(read_only_hint=True))(tool)
    server.run()


def plan(stack: str = "dev", stack_file: str = "") -> dict[str, Any]:
    """Plan a stack: addresses with their proof, operators, networks, NCCL settings, the contract of jobs, all findings.

    Args:
        stack: name of the stack, whose file is Pulumi.<stack>.yaml in this folder or in examples/.
        stack_file: path of a stack file instead.
    """
    return _run("plan", *_stack(stack, stack_file), "--format=json")


def diff(base: str, head: str) -> dict[str, Any]:
    """Compare two folders that `gpu-fabric plan --out` wrote: what changes, what is lost, what is stopped.

    Args:
        base: folder of the plan before.
        head: folder of the plan after.
    """
    return _run("diff", "--format=json", "--", base, head)


def explain(text: str) -> dict[str, Any]:
    """Lead from an error text to its cause and remedy; or explain a rule, a variable of NCCL, a key of the stack file.

    Args:
        text: what was printed (a log, `kubectl describe`, output of Pulumi); or a name: ADR001, NCCL_IB_HCA, mtu.
    """
    if len(text.split()) == 1:
        return _run("explain", "--format=json", "--", text.strip())
    return _run("explain", "--format=json", "-", given=text)


def attach(manifest: str, stack: str = "dev", stack_file: str = "") -> dict[str, Any]:
    """Give a workload manifest what its pods need for the fabric: networks, resources, files, environment.

    Gives the new manifest as text, or the reasons why it cannot be attached.

    Args:
        manifest: YAML or JSON of a Pod, Job, JobSet, PyTorchJob or another workload; several documents are allowed.
        stack: name of the stack with the fabric.
        stack_file: path of its file instead.
    """
    return _run("attach", *_stack(stack, stack_file), "-", given=manifest)


def verdict(result: str, stack: str = "dev", stack_file: str = "", log: str = "") -> dict[str, Any]:
    """Judge a measurement of nccl-tests by the bandwidth that the stack's fabric must reach, by rank and rail.

    Args:
        result: path of the file that nccl-tests wrote with -J, or of results.tar.gz.
        stack: name of the stack.
        stack_file: path of its file instead.
        log: path of the run's output with NCCL_DEBUG=INFO.
    """
    return _run(
        "verdict", *_stack(stack, stack_file), *([f"--log={log}"] if log else []), "--format=json", "--", result
    )


def preflight(stack: str = "dev", stack_file: str = "", kubeconfig: str = "", bundle: str = "") -> dict[str, Any]:
    """Compare a stack's plan with its cluster as it is, by kubectl: what `up` would run into. Only reads.

    Args:
        stack: name of the stack.
        stack_file: path of its file instead.
        kubeconfig: path of the kubeconfig, by default that of the stack file.
        bundle: path of what `gpu-fabric doctor --bundle` wrote, in the place of stack and cluster.
    """
    options = [f"--{name}={value}" for name, value in (("kubeconfig", kubeconfig), ("from", bundle)) if value]
    return _run("preflight", *_stack(stack, stack_file), *options, "--format=json")


def _stack(stack: str, stack_file: str) -> tuple[str, ...]:
    # With its value in one word, which no text can make another option.
    return (f"--stack-file={stack_file}",) if stack_file else (f"--stack={stack}",)


def _run(*arguments: str, given: str = "") -> dict[str, Any]:
    """A command's exit status, what it printed (as JSON where it is), and its messages."""
    command = [sys.executable, "-m", "gpu_fabric", *arguments]
    try:
        done = subprocess.run(command, input=given, capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return {"status": None, "result": None, "messages": f"the command did not end within {_LIMIT_S} s"}
    try:
        result: Any = json.loads(done.stdout)
    except ValueError:
        result = done.stdout or None
    return {"status": done.returncode, "result": result, "messages": done.stderr}
