"""The provider of the components for other languages: its schema, and what it makes of arguments."""

import asyncio
import json
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pytest
from programs import ANSWERS, answered_waits
from pulumi.runtime import settings
from pydantic.alias_generators import to_snake
from recording import World, record
from stub_cluster import KUBECONFIG

from components.package import dynamic_python, provider
from gpu_fabric.spec.stack import spec_keys

ARGUMENTS: dict[str, Any] = {
    "kubeconfig": "apiVersion: v1",
    "pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 2.0}],
}

# Pulumi reads every class and its source for it, which takes seconds.
fabric_provider = cache(provider.FabricProvider)

OF_PYTHON = {to_snake(key) for key in spec_keys() if key != to_snake(key)}


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(fabric_provider().schema or "")
    return found


@pytest.fixture
def right_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pulumi would start this interpreter for what is written in Python."""
    for name in ("PULUMI_RUNTIME_VIRTUALENV", "PULUMI_RUNTIME_TOOLCHAIN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PULUMI_PYTHON_CMD", sys.executable)
    dynamic_python.refuse_other_python.cache_clear()


def refusal(arguments: dict[str, Any]) -> str:
    """Why GpuFabric cannot be registered with these arguments."""
    with pytest.raises(pulumi.RunError) as caught:
        fabric_provider().construct("train", "gpu-fabric:index:GpuFabric", arguments)
    return str(caught.value)


def test_every_type_that_the_schema_names_is_in_it(schema: dict[str, Any]) -> None:
    named = set(re.findall(r'"#/types/([^"]+)"', json.dumps(schema)))

    assert named == set(schema["types"])


def test_types_of_arguments_have_no_args_in_their_names_which_sdks_add(schema: dict[str, Any]) -> None:
    """Nor does a component have the name of a type: in Go both would be one."""
    names = [token.rpartition(":")[2] for part in ("types", "resources") for token in schema[part]]

    assert {"Ranges", "RangesOutput", "DoksClusterSettings", "DoksCluster"} < set(names)
    assert [name for name in names if name.endswith("Args")] == []
    assert sorted(set(names)) == sorted(names)


def test_no_class_in_csharp_has_a_property_of_its_own_name_which_does_not_compile(schema: dict[str, Any]) -> None:
    renamed = []
    for part in ("resources", "types"):
        for token, definition in schema[part].items():
            for key, entry in definition["properties"].items():
                plain = key[0].upper() + key[1:]
                name = entry.get("language", {}).get("csharp", {}).get("name", plain)
                assert name != token.rpartition(":")[2]
                renamed += [name] if name != plain else []

    assert sorted(renamed) == ["LimitValue", "VerificationValue"]


def test_kubeconfigs_and_tokens_are_secret_and_nothing_that_must_be_plain(schema: dict[str, Any]) -> None:
    entries = [
        (key, entry)
        for resource in schema["resources"].values()
        for part in ("inputProperties", "properties")
        for key, entry in resource[part].items()
    ]

    secret = {key for key, entry in entries if entry.get("secret")}
    assert secret == {"kubeconfig", "kubeconfigToken", "token"}
    assert {
        key for key, entry in entries if key in secret and not entry.get("secret") and not entry.get("plain")
    } == set()
    assert {key for key, entry in entries if entry.get("secret") and entry.get("plain")} == set()


@pytest.mark.usefixtures("right_python")
def test_missing_and_unknown_arguments_are_all_named_with_the_nearest_known_one() -> None:
    wrong = {"pols": [], "pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nods": 2.0, "taints": [{"kye": "a"}]}]}
    message = refusal(wrong)

    assert message.startswith("GpuFabric train: 6 problems, nothing was created.")
    assert "error SPC001 GpuFabric train: pols: this argument is not known\n      -> did you mean 'pools'?" in message
    assert "error SPC003 GpuFabric train: kubeconfig: this argument is required" in message
    assert (
        "SPC001 GpuFabric train: pools[0].nods: this argument is not known\n      -> did you mean 'nodes'?" in message
    )
    assert "train: pools[0].nodes: this argument is required\n      -> add nodes: Number of GPU nodes" in message
    assert "pools[0].taints[0].kye: this argument is not known" in message
    assert "pools[0].taints[0].key: this argument is required" in message


@pytest.mark.usefixtures("right_python")
def test_problems_name_arguments_as_the_schema_does() -> None:
    pool = {**ARGUMENTS["pools"][0], "nodeNames": ["a"]}
    message = refusal({**ARGUMENTS, "pools": [pool]})

    assert "pools[0].nodeNames: 1 names for 2 nodes" in message
    assert "node_names" not in message


@pytest.mark.usefixtures("right_python")
@pytest.mark.parametrize(
    ("kind", "arguments", "world", "said"),
    [
        ("GpuFabric",
            {**ARGUMENTS, "kubeconfig": KUBECONFIG, "fabric": {"addressing": {"supernet": "192.168.0.0/16"}},
                "software": {"releaseLine": "26.4"}},
            World(ANSWERS), r'REL016 GpuFabric train: software\.releaseLine: .* -> write software\.releaseLine: "'),
        (
            "GpuCluster",
            {
                "oke": {
                    "region": "us-ashburn-1",
                    "compartmentId": "ocid1.compartment.oc1..aaaaaaaaexample",
                    "version": "1.34.1",
                    "pools": [{"name": "gpu", "shape": "BM.GPU.H100.8", "nodes": 2.0, "availabilityDomain": "AD-1"}],
                    "ranges": {"pods": "10.240.0.0/12", "services": "10.96.0.0/16", "nodes": "10.140.0.0/16"},
                    "settings": {"tenancyOcid": "ocid1.tenancy.oc1..aaaaaaaaaccount", "privateKey": "key"},
                },
                "fabric": {"addressing": {"supernet": "192.168.0.0/16"}},
            },
            World({**ANSWERS, "getNodePoolOption": {"sources": []}}),
            r"write oke\.(systemPool|pools\[\])\.imageId",
        ),
    ],
    ids=["a warning", "a refusal during the run"],
)  # fmt: skip
def test_what_is_said_in_a_run_names_arguments_as_the_schema_does(
    kind: str, arguments: dict[str, Any], world: World, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts: list[str] = []
    for level in ("warn", "error"):
        monkeypatch.setattr(pulumi.log, level, lambda text, *_, **__: texts.append(text))

    def program() -> None:
        fabric_provider().construct("train", f"gpu-fabric:index:{kind}", arguments)

    with answered_waits():
        try:
            record(program, stack="mine", world=world)
        except pulumi.RunError as error:
            texts.append(str(error))

    assert re.search(said, "\n".join(texts)), texts
    assert not {word for text in texts for word in re.findall(r"\b[a-z]+_[a-z_]+\b", text)} & OF_PYTHON


@pytest.mark.usefixtures("right_python")
def test_an_output_in_the_place_of_an_object_is_refused_as_one_in_it() -> None:
    async def run() -> str:
        late = pulumi.Output.from_input({"pods": "10.0.0.0/8"})
        return refusal({**ARGUMENTS, "ranges": late, "pools": [{**ARGUMENTS["pools"][0], "labels": late}]})

    try:
        message = asyncio.run(run())
    finally:
        # The next program of this process would wait for these outputs.
        settings.SETTINGS.outputs.clear()

    assert "GpuFabric train: ranges: this is an Output" in message
    assert "GpuFabric train: pools[0].labels: this is an Output" in message


@pytest.mark.usefixtures("right_python")
def test_a_missing_environment_is_refused_with_the_way(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PULUMI_RUNTIME_VIRTUALENV", str(tmp_path))
    message = refusal(ARGUMENTS)

    assert f"{str(tmp_path / 'bin/python')!r}, which lacks components" in message
    assert "option `virtualenv` of `runtime`" in message


@pytest.mark.usefixtures("right_python")
def test_another_version_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "python"
    other.write_text("#!/bin/sh\necho 0.1.0\n")
    other.chmod(0o700)
    monkeypatch.setenv("PULUMI_PYTHON_CMD", str(other))

    assert f"{str(other)!r}, which has gpu-fabric 0.1.0" in refusal(ARGUMENTS)


@pytest.mark.parametrize(
    ("environment", "command"),
    [
        ({}, "python3"),
        ({"PULUMI_PYTHON_CMD": "python3.12"}, "python3.12"),
        ({"PULUMI_PYTHON_CMD": "python3.12", "PULUMI_RUNTIME_VIRTUALENV": "/env/"}, "/env/bin/python"),
        ({"PULUMI_RUNTIME_VIRTUALENV": "env"}, f"{Path.cwd()}/env/bin/python"),
        ({"PULUMI_RUNTIME_TOOLCHAIN": "uv"}, f"{Path.cwd()}/.venv/bin/python"),
        ({"PULUMI_RUNTIME_TOOLCHAIN": "uv", "PULUMI_RUNTIME_VIRTUALENV": "/env"}, "/env/bin/python"),
        ({"PULUMI_RUNTIME_TOOLCHAIN": "poetry"}, ""),
        ({"PULUMI_RUNTIME_TOOLCHAIN": "pip"}, "python3"),
    ],
)
def test_the_interpreter_is_the_one_that_pulumis_script_starts(environment: dict[str, str], command: str) -> None:
    assert dynamic_python.interpreter(environment)[0] == command


def test_the_environment_that_the_host_has_put_first_for_the_provider_is_not_the_programs() -> None:
    # The second is as written in PulumiPlugin.yaml.
    for own in (f"{sys.prefix}/bin", f"{sys.prefix}/lib/../bin"):
        assert dynamic_python.interpreter({"PATH": f"{own}:/usr/bin"})[1] == "/usr/bin"
        assert dynamic_python.interpreter({"PATH": f"{own}:{own}:/usr/bin"})[1] == f"{own}:/usr/bin"
    assert dynamic_python.interpreter({"PATH": "/usr/bin:/bin"})[1] == "/usr/bin:/bin"
