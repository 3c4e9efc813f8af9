"""The clouds' provider plug-ins: the versions whose types, arguments and defaults the plan has.

The engine loads a plug-in by the version that a provider is registered with, and downloads one that is missing
(loadProvider in https://github.com/pulumi/pulumi/blob/v3.259.0/pkg/resource/deploy/providers/registry.go). So no stack
needs a cloud's Python package; the tests compare the plan with the packages of these versions.
"""

PLUGIN_VERSIONS = {"digitalocean": "4.84.1", "oci": "5.5.0"}
