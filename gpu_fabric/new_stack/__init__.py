"""A new stack file, made of answers: the questions, what the plan says of an answer, and the text."""
