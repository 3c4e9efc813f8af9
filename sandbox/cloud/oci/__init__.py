"""Oracle's cloud as its Pulumi provider shows it, with the control planes of the sandbox behind its clusters."""
