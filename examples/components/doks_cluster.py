"""A protected cluster at DigitalOcean without a fabric, by a provider that the program has itself."""

import pulumi

from gpu_fabric.components import DoksCluster, DoksClusterArgs, DoksPoolArgs, RangesArgs

token = pulumi.Config().require_secret("token")
account = pulumi.ProviderResource("digitalocean", "account", {"token": token})
cluster = DoksCluster(
    "train",
    DoksClusterArgs(
        # Also for the kubeconfig, which holds it.
        token=token,
        region="nyc2",
        version="1.36",
        pools=[DoksPoolArgs(name="gpu", shape="gpu-h200x8-1128gb-fabric-contracted", nodes=2)],
        ranges=RangesArgs(pods="10.156.0.0/16", services="10.157.0.0/19", nodes="10.158.0.0/20"),
    ),
    pulumi.ResourceOptions(provider=account, protect=True),
)
pulumi.export("cluster", cluster.cluster)
pulumi.export("kubeconfig", cluster.kubeconfig)
