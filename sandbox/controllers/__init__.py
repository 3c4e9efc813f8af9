"""Real controllers, each a process of this machine in the place of a simulated pod's container."""
