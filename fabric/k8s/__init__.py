"""Typed custom resources, one module per API group; `obj.manifest()` is what the API server takes."""
