"""All stacks of a change in one comment for its pull request."""

from fabric.review.comment import MARKER, comment
from fabric.review.reading import ReviewError, Side, read_side
from fabric.review.stacks import Review, StackReview, review

__all__ = ["MARKER", "Review", "ReviewError", "Side", "StackReview", "comment", "read_side", "review"]
