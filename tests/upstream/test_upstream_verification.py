"""The verification's job against the published definitions of the kinds that it is written as."""

from pathlib import Path

import pytest
from structural_schema import refusals
from test_upstream_attached import schema_of

from gpu_fabric.prepare import prepare
from gpu_fabric.spec.load import read_document

ROOT = Path(__file__).resolve().parents[2]
DEFINED = {"volcano": "volcano-1.15.1", "mpi-operator": "mpi-operator-0.8.0"}


@pytest.mark.parametrize("stack", ["dev", "ib-sriov", "host-network", "spiderpool-ib", "doks-b300"])
@pytest.mark.parametrize("launcher", DEFINED)
def test_the_job_is_accepted_by_its_published_definition(launcher: str, stack: str) -> None:
    document = read_document(stack, ROOT)
    sections = dict(document.sections)
    sections["cluster"] = {**sections["cluster"], "installed": [launcher]}
    sections["verification"] = {"enabled": True, "image": "registry.example/nccl-tests:1", "launcher": launcher}
    planned = prepare(document.model_copy(update={"sections": sections}), for_up=False).verification
    assert planned is not None
    job = planned.manifests[-1]

    assert refusals(job, schema_of(DEFINED[launcher], job)) == []
