"""What NCCL reads: topology files and settings."""
