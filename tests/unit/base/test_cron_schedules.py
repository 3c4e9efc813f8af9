"""Times of CronJobs: what Kubernetes' own parser takes, and what it would refuse only when the object is created."""

import pytest
from pydantic import TypeAdapter, ValidationError

from gpu_fabric.base.grammar import CronSchedule

SCHEDULE = TypeAdapter[str](CronSchedule)


@pytest.mark.parametrize(
    "text",
    ["17 */4 * * *", "0 0 1 1 0", "59 23 31 12 6", "*/5,17 1-5 * jan-MAR mon-fri", "0-30/10 * * * sun,2", "* * * * *"],
)
def test_what_cron_jobs_take_is_taken(text: str) -> None:
    assert SCHEDULE.validate_python(text) == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "five fields"),
        ("@daily", "five fields"),
        ("TZ=UTC 0 3 * * *", "five fields"),
        ("60 * * * *", "no such minute"),
        ("* 24 * * *", "no such hour"),
        ("* * 0 * *", "no such day of the month"),
        ("* * * 13 *", "no such month"),
        ("* * * * 7", "no such day of the week"),
        ("5-1 * * * *", "no such minute"),
        ("*/0 * * * *", "no such minute"),
        ("1,,2 * * * *", "no such minute"),
        ("mon * * * *", "no such minute"),
        ("* * * * day", "no such day of the week"),
    ],
)
def test_what_cron_jobs_refuse_is_refused_with_the_field(text: str, words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        SCHEDULE.validate_python(text)
