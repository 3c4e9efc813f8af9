"""What the stack does on a cluster between Kueue and its queues when both are deleted."""
