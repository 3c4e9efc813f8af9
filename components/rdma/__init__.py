"""The fabric itself: address pools, networks, NCCL files."""
