"""The all-reduce test against the published definitions of the kinds that it is written as."""

from pathlib import Path

import pytest
from structural_schema import refusals
from test_upstream_attached import schema_of

from gpu_fabric.prepare import prepare_stack
from gpu_fabric.workloads.nccl_test import JobScheduler, NcclTest, nccl_test

ROOT = Path(__file__).resolve().parents[2]
DEFINED = {JobScheduler.VOLCANO: "volcano-1.15.1", JobScheduler.MPI_OPERATOR: "mpi-operator-0.8.0"}


@pytest.mark.parametrize("stack", ["dev", "oke-guide", "host-network", "spiderpool-ib", "doks-b300", "doks-mi325x"])
@pytest.mark.parametrize("form", DEFINED)
def test_the_job_is_accepted_by_its_published_definition(form: JobScheduler, stack: str) -> None:
    contract = prepare_stack(stack, ROOT).workload
    (job,) = nccl_test(contract, NcclTest(form, "registry.example/nccl-tests:1")).documents

    assert refusals(job, schema_of(DEFINED[form], job)) == []
