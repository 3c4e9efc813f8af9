"""Any stack for a cluster of one's own can be tried on the sandbox, and its own cluster is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from fabric.spec import StackDocument, read_document
from sandbox.engine.simulated import on_the_sandbox
from sandbox.engine.workspace import Workspace
from sandbox.failure import SandboxError
from sandbox.home import SandboxHome, project_root


@pytest.fixture
def home(tmp_path: Path) -> SandboxHome:
    return SandboxHome(tmp_path / "home")


def test_the_users_cluster_and_charts_give_way_to_the_sandboxs(home: SandboxHome) -> None:
    written = read_document("roce-macvlan", project_root())
    tried = on_the_sandbox(written, home)
    assert tried.sections["cluster"] == {**written.sections["cluster"], "kubeconfig": str(home.kubeconfig)}
    assert tried.sections["software"] == {"charts": "bundled"}
    assert tried.sections["fabric"] == written.sections["fabric"]


def test_nothing_that_leads_to_the_users_cluster_is_kept(home: SandboxHome) -> None:
    written = read_document("oke-guide", project_root())
    own = {"kubeconfigSecret": "kubeconfig", "context": "production", "id": "ocid1.cluster"}
    cluster = {**written.sections["cluster"], **own}
    cluster.pop("kubeconfig")
    document = written.model_copy(update={"sections": {**written.sections, "cluster": cluster}})
    tried = on_the_sandbox(document, home)
    assert not own.keys() & tried.sections["cluster"].keys()
    assert tried.sections["software"] == {"releaseLine": "23.10", "charts": "bundled"}


def test_a_stack_that_makes_a_clouds_cluster_is_refused_with_what_works(home: SandboxHome, tmp_path: Path) -> None:
    document = StackDocument(
        name="cloud", file="Pulumi.cloud.yaml", root=tmp_path, sections={"cluster": {"provider": "doks"}}
    )
    with pytest.raises(SandboxError, match="provider doks") as caught:
        on_the_sandbox(document, home)
    assert caught.value.status == 2
    assert "make plan STACK=cloud" in caught.value.remedy


def test_the_engine_gets_the_tried_sections_and_the_committed_file_stays(home: SandboxHome) -> None:
    committed = project_root() / "examples" / "Pulumi.ipoib.yaml"
    before = committed.read_text()
    workspace = Workspace(home)
    workspace.stacks.mkdir(parents=True)
    sections = on_the_sandbox(read_document("ipoib", project_root()), home).sections
    copy = yaml.safe_load(workspace.stack_config("ipoib", committed, sections).read_text())
    assert copy["config"]["gpu-fabric:cluster"]["kubeconfig"] == str(home.kubeconfig)
    assert copy["config"]["gpu-fabric:software"] == {"charts": "bundled"}
    assert committed.read_text() == before
