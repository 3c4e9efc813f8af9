"""The function on the page about workloads is called as it is shown; its commands are run with those of all pages."""

import re
from pathlib import Path

import pytest
import yaml
from attached_pods import NETWORKS
from documented_runs import ROOT, prepare

from gpu_fabric.attach.attachment import AttachOptions, attach
from gpu_fabric.plan import Plan

PAGE = (ROOT / "docs" / "workloads.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dev_plan: Plan) -> None:
    """A folder with the stacks, outputs and manifests that the page names, as the current one."""
    prepare(tmp_path, dev_plan)
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
def test_the_function_is_called_as_the_page_shows() -> None:
    (code,) = (
        block for block in re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S) if "documents, notes" in block
    )
    manifests = list(yaml.safe_load_all(Path("examples/workloads/mpijob.yaml").read_text()))
    names: dict[str, object] = {"Path": Path, "manifests": manifests}
    with pytest.raises(Exception, match="not offered in research"):
        exec(code, names)  # noqa: S102  # the page's own text

    exec(code.replace("research", "default"), names)  # noqa: S102
    assert NETWORKS in str(names["documents"])
    assert attach(manifests, names["contract"], AttachOptions(("worker",))).documents == names["documents"]  # type: ignore[arg-type]
