"""A Pulumi program whose workloads get the fabric, run by the real engine, which alone runs transforms."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from attached_pods import NETWORKS
from previews import Engine

from gpu_fabric.attach.stamp import STAMP

pytestmark = pytest.mark.engine

PROGRAM = dedent("""\
    import sys
    from pathlib import Path

    sys.path.insert(0, {root!r})

    import pulumi
    import pulumi_kubernetes as kubernetes

    from components.rdma.attach import fabric_transform
    from gpu_fabric.prepare import prepare_stack

    provider = kubernetes.Provider("cluster", render_yaml_to_directory={rendered!r})
    contract = prepare_stack("dev", Path({root!r})).workload
    settings = kubernetes.core.v1.ConfigMap(
        "settings", metadata={{"name": "settings"}}, data={{"a": "b"}}, opts=pulumi.ResourceOptions(provider=provider)
    )
    values = {{"plain": "b", "linked": settings.metadata.name, "secret": pulumi.Output.secret("hush")}}
    for name, value in values.items():
        container = {{
            "name": "main",
            "image": "registry.example/train:7",
            "env": [{{"name": "A", "value": value}}],
            "resources": {{"limits": {{"nvidia.com/gpu": "8"}}}},
        }}
        kubernetes.batch.v1.Job(
            name,
            metadata={{"name": name, "namespace": "default"}},
            spec={{"template": {{"spec": {{"restartPolicy": "Never", "containers": [container]}}}}}},
            opts=pulumi.ResourceOptions(provider=provider, transforms=[fabric_transform(contract)]),
        )
    """)


@pytest.fixture(scope="module")
def rendered(engine: Engine, root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The manifests of a program's jobs, by name, as the provider renders them."""
    folder = tmp_path_factory.mktemp("attached")
    project = {"name": "attached", "runtime": {"name": "python", "options": {"virtualenv": str(Path(sys.prefix))}}}
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
    (folder / "__main__.py").write_text(PROGRAM.format(root=str(root), rendered=str(folder / "rendered")))
    engine.run(["stack", "init", "attached", "--non-interactive"], folder)
    result = engine.run(["up", "--yes", "--skip-preview", "--non-interactive", "--stack", "attached"], folder)
    assert result.returncode == 0, result.stdout + result.stderr
    found = [yaml.safe_load(path.read_text()) for path in sorted((folder / "rendered").rglob("*job*.yaml"))]
    return {manifest["metadata"]["name"]: manifest for manifest in found}


@pytest.mark.parametrize("name", ["plain", "linked", "secret"])
def test_a_job_is_applied_with_the_fabric_whatever_its_values_wait_for(rendered: dict[str, Any], name: str) -> None:
    template = rendered[name]["spec"]["template"]
    (container,) = template["spec"]["containers"]

    assert {NETWORKS, STAMP} <= set(template["metadata"]["annotations"])
    assert container["resources"]["requests"]["nvidia.com/rail_15"] == "1"
    assert container["env"][0] == {"name": "A", "value": {"plain": "b", "linked": "settings", "secret": "hush"}[name]}
