"""What is damaged in a cluster and in a stack's state, and what mends it: judged on what was read alone."""
