"""The program's own workloads, generated from a stack's contract."""

from gpu_fabric.workloads.nccl_test import JobError, JobScheduler, NcclTest, manifest_text, nccl_test

__all__ = ["JobError", "JobScheduler", "NcclTest", "manifest_text", "nccl_test"]
