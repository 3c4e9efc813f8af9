"""Many quick cases as one test, which runs all of them and names each that fails."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]
Ids = Callable[[Any], str] | Iterable[str] | None


def each(names: str | tuple[str, ...], cases: Iterable[Any], ids: Ids = None) -> Callable[[Test], Test]:
    """Like `pytest.mark.parametrize`, for cases that take less time than pytest takes for a test of its own.

    The cases share the test's fixtures, and none may skip.
    """
    arguments = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    values = list(cases)
    named = [ids(value) if callable(ids) else repr(value) for value in values] if ids is None or callable(ids) else ids
    chosen = list(zip(named, values, strict=True))
    assert chosen

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def run(**fixtures: Any) -> None:
            failed: dict[str, BaseException] = {}
            for name, value in run.cases:  # type: ignore[attr-defined]
                given = dict(zip(arguments, value if len(arguments) > 1 else (value,), strict=True))
                try:
                    test(**fixtures, **given)
                except (Exception, BaseExceptionGroup, pytest.fail.Exception) as error:
                    error.add_note(f"case: {name}")
                    failed[name] = error
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} cases: {', '.join(failed)}", list(failed.values()))

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        run.cases = chosen  # type: ignore[attr-defined]
        return run

    return decorate
