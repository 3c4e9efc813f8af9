"""The provider of Oracle's cloud, with the stack's settings `oci:*`; what they leave out is the environment's."""

from __future__ import annotations

import pulumi

from components.cluster.oke_values import plugin_version

# All that the provider knows, but for the region, which is the stack file's.
_SETTINGS = (
    "auth",
    "configFileProfile",
    "disableAutoRetries",
    "dualStackEndpointEnabled",
    "fingerprint",
    "ignoreDefinedTags",
    "privateKey",
    "privateKeyPassword",
    "privateKeyPath",
    "realmSpecificServiceEndpointTemplateEnabled",
    "retriesConfigFile",
    "retryDurationSeconds",
    "tenancyOcid",
    "tokenExchangeAuth",
    "tokenExchangeClientId",
    "tokenExchangeClientSecret",
    "tokenExchangeDomainUrl",
    "tokenExchangePublicKey",
    "tokenExchangeRequestedTokenType",
    "tokenExchangeResourceType",
    "tokenExchangeRpstExp",
    "tokenExchangeSubjectTokenType",
    "userOcid",
    "workloadIdentityTokenPath",
)


def oracle_provider(name: str, region: str, parent: pulumi.Resource) -> pulumi.ProviderResource:
    """A provider for a region."""
    configuration = pulumi.Config("oci")
    # Any of them may have been set as a secret, and none is needed in plain text.
    given = {key: value for key in _SETTINGS if (value := configuration.get_secret(key)) is not None}
    options = pulumi.ResourceOptions(parent=parent, version=plugin_version())
    return pulumi.ProviderResource("oci", name, {**given, "region": region}, options)
