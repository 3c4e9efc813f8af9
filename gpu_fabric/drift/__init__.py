"""What has changed in a cluster since the stack was up: objects by hand, addresses that leak, nodes that differ."""
