"""Workload manifests with the fabric attached; the names here are for programs of users (docs/workloads.md)."""

from gpu_fabric.attach.attachment import AttachOptions, attach

__all__ = ["AttachOptions", "attach"]

Wishes = AttachOptions
"""The name until 0.2.0, for one more release."""
