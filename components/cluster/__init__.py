"""Clusters: each provider's component gives the same ClusterHandle."""
