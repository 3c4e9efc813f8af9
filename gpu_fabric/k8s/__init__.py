"""Typed custom resources, one module per API group; `obj.manifest()` is the manifest for the API server."""
