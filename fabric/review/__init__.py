"""All stacks of a change in one comment for its pull request."""

from fabric.review.comment import MARKER, comment
from fabric.review.reading import NOTHING_YET, NoPlans, ReviewError, Side, read_base, read_side
from fabric.review.stacks import Review, StackReview, review

__all__ = [
    "MARKER",
    "NOTHING_YET",
    "NoPlans",
    "Review",
    "ReviewError",
    "Side",
    "StackReview",
    "comment",
    "read_base",
    "read_side",
    "review",
]
