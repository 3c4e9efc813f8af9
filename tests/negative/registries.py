"""Mirrors that are none, and prices that nobody can pay."""

from __future__ import annotations

from typing import Any

from negative.mistake import Kind, together, written, written_below

_REGISTRIES, _PRICES, _SIZE = "software.registries", "cluster.prices", "some-size"


def _priced(**price: Any) -> dict[str, Any]:
    return {_SIZE: {"hourly": 20.5, **price}}


KINDS = (
    Kind("a mirror is no registry", "SPC002", together(
        written_below(_REGISTRIES, ".*", {"*": "https://mirror.example"}, {"*": "mirror"}, {"*": "mirror.example/"},
            {"*": "mirror.example/Upper"}, {"*": ""}),
        written(_REGISTRIES, "mirror.example", ["mirror.example"]))),
    Kind("a pull secret is no Secret's name, or is there twice", "SPC002", together(
        written_below("software.imagePullSecrets", "[0].name", [{"name": "Mirror"}], [{"name": ""}]),
        written("software.imagePullSecrets", [{"name": "mirror"}, {"name": "mirror"}]))),
    Kind("a proxy has a login, or is none", "SPC002", together(
        written_below("software.proxy", ".https", {"https": "http://me:word@proxy.example:3128"},
            {"https": "proxy.example:3128"}, {"https": "socks5://proxy.example:1080"}),
        written("software.proxy", {"noProxy": [".example.com"]}))),
    Kind("a price is no price", "SPC002", together(
        written_below(_PRICES, f".{_SIZE}.hourly", _priced(hourly=0), _priced(hourly=-1), _priced(hourly="20.5")),
        written_below(_PRICES, f".{_SIZE}.currency", _priced(currency="dollars")),
        written_below(_PRICES, f".{_SIZE}.asOf", _priced(asOf="last week")),
        written_below(_PRICES, f".{_SIZE}", _priced(hourlyMost=1)))),
)  # fmt: skip
