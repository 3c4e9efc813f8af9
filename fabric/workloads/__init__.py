"""Workloads of our own, made from a stack's contract."""

from fabric.workloads.nccl_test import JobError, JobScheduler, NcclTest, manifest_text, nccl_test

__all__ = ["JobError", "JobScheduler", "NcclTest", "manifest_text", "nccl_test"]
