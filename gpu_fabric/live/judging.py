"""Every judge of a live cluster, with the phases in which its facts count."""

from __future__ import annotations
