"""`gpu-fabric mcp`, asked by the protocol's own client over standard streams."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from gpu_fabric.cli import mcp


def asked(folder: Path, *calls: tuple[str, dict[str, Any]]) -> tuple[list[Any], list[dict[str, Any]]]:
    """The server's tools, and what it answers to calls of them."""

    async def run() -> tuple[list[Any], list[dict[str, Any]]]:
        server = StdioServerParameters(command=sys.executable, args=["-m", "gpu_fabric", "mcp"], cwd=folder)
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            answers = [await client.call_tool(name, arguments) for name, arguments in calls]
            return tools, [json.loads(answer.content[0].text) for answer in answers]

    return asyncio.run(run())


def test_an_assistant_plans_explains_and_attaches_and_every_tool_is_read_only(root: Path) -> None:
    job = (root / "examples/workloads/pod.yaml").read_text(encoding="utf-8")
    tools, (plan, words, rule, manifest, wrong, result) = asked(
        root,
        ("plan", {"stack": "oke-h100"}),
        ("explain", {"text": "today: LoadConf(): VF pci addr is required"}),
        ("explain", {"text": "ADR001"}),
        ("attach", {"manifest": job, "stack": "dev"}),
        ("plan", {"stack": "--out=/tmp/x"}),
        ("verdict", {"result": "examples/results/healthy.json", "log": "examples/results/output.txt"}),
    )

    assert {tool.name for tool in tools} == {"plan", "diff", "explain", "attach", "verdict", "preflight"}
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)
    assert (plan["status"], plan["result"]["stack"]) == (0, "oke-h100")
    assert words["result"]["symptoms"][0]["printedBy"]
    assert rule["result"]["id"] == "ADR001"
    assert "k8s.v1.cni.cncf.io/networks" in manifest["result"]
    assert wrong["status"] == 2
    assert "--out=/tmp/x" in wrong["messages"]
    assert result["status"] == 0, result


def test_without_the_sdk_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)

    with pytest.raises(Exception, match="2"):
        mcp.mcp()
    assert "extra `mcp`" in capsys.readouterr().err
