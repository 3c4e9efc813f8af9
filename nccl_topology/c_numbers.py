"""Numbers in a text as C reads them."""

from __future__ import annotations

import re
from functools import lru_cache

_NUMBER = re.compile(r"[ \t\n\v\f\r]*([+-]?)(?:0[xX]([0-9a-fA-F]+)|(0[0-7]*)|([1-9][0-9]*))")


@lru_cache(maxsize=1024)
def c_integer(text: str) -> int:
    """The number that C's strtol with base 0 reads, in NCCL's 32 bits; 0 if the text does not begin with a number."""
    found = _NUMBER.match(text)
    if found is None:
        return 0
    sign, hexadecimal, octal, decimal = found.groups()
    # Python refuses to convert thousands of decimal digits; C saturates long before that length.
    number = int(hexadecimal, 16) if hexadecimal else int(octal, 8) if octal else int(decimal[:20])
    number = max(-(2**63), min(2**63 - 1, -number if sign == "-" else number))
    return (number + 2**31) % 2**32 - 2**31


def is_misread(text: str) -> bool:
    """Whether C reads another number than people do: decimal digits after a leading zero are octal."""
    written = re.match(r"[ \t\n\v\f\r]*[+-]?(0[0-9]+)", text)
    return written is not None and abs(c_integer(text)) != int(written[1][:20])
