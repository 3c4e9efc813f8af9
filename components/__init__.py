"""Pulumi components: each turns a part of the plan into resources, in order, with waits. They hold no facts."""
