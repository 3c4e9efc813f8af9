"""Two clusters at DigitalOcean without a fabric, in one account whose provider the program has itself.

The API token is a secret of the program's configuration: `pulumi config set --secret token`.
"""

import pulumi

from gpu_fabric.components import DoksCluster, DoksClusterArgs, DoksPoolArgs, RangesArgs

token = pulumi.Config().require_secret("token")
account = pulumi.ProviderResource("digitalocean", "account", {"token": token})
for name, second in {"train": 156, "research": 160}.items():
    cluster = DoksCluster(
        name,
        DoksClusterArgs(
            token=token,
            region="nyc2",
            version="1.36",
            pools=[DoksPoolArgs(name="gpu", shape="gpu-h200x8-1128gb-fabric-contracted", nodes=2)],
            ranges=RangesArgs(
                pods=f"10.{second}.0.0/16", services=f"10.{second + 1}.0.0/19", nodes=f"10.{second + 2}.0.0/20"
            ),
        ),
        pulumi.ResourceOptions(provider=account, protect=True),
    )
    pulumi.export(name, cluster.cluster)
    pulumi.export(f"{name}-kubeconfig", cluster.kubeconfig)
