"""What a user may write, validated: one module per section of the stack file."""
