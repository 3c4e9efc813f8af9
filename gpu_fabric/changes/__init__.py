"""What a change does to a stack: the difference of two plans, the guard's judgement, and the review of all stacks."""
