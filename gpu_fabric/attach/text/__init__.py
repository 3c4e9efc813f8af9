"""Manifests as text: attached and detached in place, where every other line stays as it is written."""
