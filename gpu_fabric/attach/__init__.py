"""Workload manifests with the fabric attached; the names here are for programs of users (docs/workloads.md)."""

from gpu_fabric.attach.attachment import Wishes, attach

__all__ = ["Wishes", "attach"]
