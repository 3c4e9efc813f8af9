"""The DaemonSets that the stack runs on the nodes."""
