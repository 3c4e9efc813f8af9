"""The cloud resources at Oracle: network, identity, cluster, machines and access."""
