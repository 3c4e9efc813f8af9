"""A plan compared with a cluster as it is: what stands in its way there, without changing anything."""
