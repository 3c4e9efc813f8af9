"""Machines from the output of tools that run on a node: what each says, one record of a node, and a stack file."""
