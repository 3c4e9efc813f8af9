"""Every rule of the book against stacks it holds, stacks it refuses, and stacks it says nothing about."""
