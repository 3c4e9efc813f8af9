"""The verdict on results of nccl-tests: whether the fabric reaches its bar, and every reason if it does not."""
