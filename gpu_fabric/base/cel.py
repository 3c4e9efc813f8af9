"""Values in the expressions that an API server evaluates (CEL)."""

from __future__ import annotations

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn


def literal(value: Any) -> str:
    """A value as CEL writes it; values of mappings, and entries of lists, may be of different types."""
    if isinstance(value, Mapping):
        texts = all(isinstance(inner, str) for inner in value.values())
        parts = (f"{literal(key)}: {literal(v) if texts else f'dyn({literal(v)})'}" for key, v in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        alike = len({_type_of(inner) for inner in value}) < 2
        return f"[{', '.join(literal(inner) if alike else f'dyn({literal(inner)})' for inner in value)}]"
    return json.dumps(value)


def _type_of(value: Any) -> str:
    """What the entries of a list must have in common, by Kubernetes' apiserver/pkg/cel/environment/base.go."""
    if isinstance(value, Mapping):
        return f"mapping to {'text' if all(isinstance(inner, str) for inner in value.values()) else 'any'}"
    return type(value).__name__


def differing(new: str, old: str, path: str = "", but: str = "false") -> str:
    """The list of the keys whose values differ in two mappings, each behind `path`; `but` is true of a `key` that may.

    The API server gives objects to CEL as mappings, so a whole object can be compared, fields that are not known here
    included (source: Kubernetes, apiserver/pkg/admission/plugin/cel/condition.go, objectToResolveVal). Its check of
    types takes an object for its schema's type; `dyn(object)` is none.
    """
    differs = f"{new}.filter(key, !({but}) && !(key in {old} && {new}[key] == {old}[key]))"
    return f"({differs} + {old}.filter(key, !({but} || key in {new}))).map(key, {literal(path)} + key)"


Value = Any
Variables = Mapping[str, Any]
_Term = Callable[[Variables], Value]


class CelUnknownError(ValueError):
    """The expression is not in the part of CEL that is known here."""


class CelRuntimeError(ValueError):
    """The expression has no value for these variables: a key that is missing, or an operation on the wrong type."""


@lru_cache(maxsize=1024)
def condition(text: str) -> Callable[[Variables], bool]:
    """The condition of a text, as a function of its variables, which raises CelRuntimeError where it has no value.

    Fields and indexes read mappings. Raises CelUnknownError.
    """
    parser = _Parser(text)
    term = parser.choice()
    if parser.peek() != "":
        parser.refuse()
    return lambda variables: _boolean(term(variables))


_TOKENS = re.compile(
    r"""\s*(?:(?P<text>"(?:[^"\\\n]|\\["'\\])*"|'(?:[^'\\\n]|\\["'\\])*')|(?P<number>[0-9]+)"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>&&|\|\||==|!=|<=|>=|[-<>!?:.,()\[\]]))""",
    re.ASCII,
)
_ORDERS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_METHODS: dict[str, Callable[[str, str], bool]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": lambda text, part: part in text,
    "matches": lambda text, pattern: re.search(pattern, text) is not None,
}
_WORDS = {"true": True, "false": False}
# Reserved, or names of functions: as variables they would be understood wrongly.
_NO_VARIABLES = frozenset({"in", "null", "has", "size", "dyn", "cel", "semver", "quantity", "int", "string", "type"})


class _Token(NamedTuple):
    kind: str
    text: str


class _Parser:
    """Reads an expression from left to right; each method reads one level of CEL's grammar."""

    def __init__(self, text: str) -> None:
        self._text, self._tokens, self._next = text, list(self._split(text)), 0

    def _split(self, text: str) -> list[_Token]:
        tokens, place, end = [], 0, len(text.rstrip())
        while place < end:
            found = _TOKENS.match(text, place)
            if found is None or found.lastgroup is None:
                raise CelUnknownError(f"{text!r}: {text[place:end].strip()[:20]!r} is not read here")
            tokens.append(_Token(found.lastgroup, found.group(found.lastgroup)))
            place = found.end()
        return tokens

    def peek(self) -> str:
        """The next sign or word; empty at the end, and before a literal text."""
        if self._next == len(self._tokens):
            return ""
        kind, text = self._tokens[self._next]
        return " " if kind == "text" else text

    def refuse(self) -> NoReturn:
        """Refuse the expression for what comes next."""
        rest = "".join(token.text for token in self._tokens[self._next :])
        raise CelUnknownError(f"{self._text!r}: {f'{rest[:20]!r} is not read here' if rest else 'the end is missing'}")

    def _took(self, *signs: str) -> str:
        """The next sign, if it is one of these."""
        if (sign := self.peek()) in signs:
            self._next += 1
            return sign
        return ""

    def _take(self, sign: str) -> None:
        if not self._took(sign):
            self.refuse()

    def _token(self, kind: str) -> str:
        if self._next == len(self._tokens) or self._tokens[self._next].kind != kind:
            self.refuse()
        self._next += 1
        return self._tokens[self._next - 1].text

    def choice(self) -> _Term:
        """A condition, or two expressions of which a condition selects one."""
        term = self._either()
        if not self._took("?"):
            return term
        first = self._either()
        self._take(":")
        second = self.choice()
        return lambda variables: (first if _boolean(term(variables)) else second)(variables)

    def _either(self) -> _Term:
        terms = [self._both()]
        while self._took("||"):
            terms.append(self._both())
        return terms[0] if len(terms) == 1 else lambda variables: _any(terms, variables, decides=True)

    def _both(self) -> _Term:
        terms = [self._relation()]
        while self._took("&&"):
            terms.append(self._relation())
        return terms[0] if len(terms) == 1 else lambda variables: _any(terms, variables, decides=False)

    def _relation(self) -> _Term:
        left = self._unary()
        sign = self._took("==", "!=", "in", *_ORDERS)
        if not sign:
            return left
        right = self._unary()
        if self.peek() in ("==", "!=", "in", *_ORDERS):
            self.refuse()
        match sign:
            case "==":
                return lambda variables: _equal(left(variables), right(variables))
            case "!=":
                return lambda variables: not _equal(left(variables), right(variables))
            case "in":
                return lambda variables: _contains(right(variables), left(variables))
        return lambda variables: _ordered(_ORDERS[sign], left(variables), right(variables))

    def _unary(self) -> _Term:
        if self._took("!"):
            term = self._unary()
            return lambda variables: not _boolean(term(variables))
        if self._took("-"):
            number = -int(self._token("number"))
            return lambda variables: number
        return self._member()

    def _member(self) -> _Term:
        term = self._primary()
        while sign := self._took(".", "["):
            if sign == "[":
                term = _index(term, self.choice())
                self._take("]")
                continue
            name = self._token("name")
            if not self._took("("):
                term = _Field(term, name)
            elif name in _METHODS:
                term = _method(_METHODS[name], term, self.choice())
                self._take(")")
            else:
                self._next -= 2
                self.refuse()
        return term

    def _primary(self) -> _Term:
        if self._took("("):
            term = self.choice()
            self._take(")")
            return term
        if self._took("["):
            return self._list()
        if self.peek() == " ":
            return _constant(re.sub(r"\\(.)", r"\1", self._token("text")[1:-1]))
        if self.peek().isdecimal():
            return _constant(int(self._token("number")))
        if self._took("has"):
            return self._has()
        if self.peek() in _NO_VARIABLES:
            self.refuse()
        name = self._token("name")
        return _constant(_WORDS[name]) if name in _WORDS else lambda variables: _item(variables, name)

    def _list(self) -> _Term:
        terms: list[_Term] = []
        while not self._took("]"):
            terms.append(self.choice())
            if self.peek() != "]":
                self._take(",")
        return lambda variables: [term(variables) for term in terms]

    def _has(self) -> _Term:
        self._take("(")
        term = self._member()
        if not isinstance(term, _Field):
            self.refuse()
        self._take(")")
        return lambda variables: _contains(term.holder(variables), term.name)


@dataclass(frozen=True)
class _Field:
    """`holder.name`."""

    holder: _Term
    name: str

    def __call__(self, variables: Variables) -> Value:
        return _item(self.holder(variables), self.name)


def _constant(value: Value) -> _Term:
    return lambda variables: value


def _index(term: _Term, key: _Term) -> _Term:
    return lambda variables: _item(term(variables), key(variables))


def _method(call: Callable[[str, str], bool], term: _Term, argument: _Term) -> _Term:
    def value(variables: Variables) -> bool:
        text, other = term(variables), argument(variables)
        if not isinstance(text, str) or not isinstance(other, str):
            raise CelRuntimeError("no such overload: a method of texts on another type")
        try:
            return call(text, other)
        except re.error as error:
            raise CelRuntimeError(f"{other!r} is not a valid pattern: {error}") from None

    return value


def _item(holder: Value, key: Value) -> Value:
    try:
        if isinstance(holder, Mapping):
            return holder[key]
    except KeyError:
        raise CelRuntimeError(f"no such key: {key}") from None
    raise CelRuntimeError(f"no such overload: {key} of a value without fields")


def _contains(holder: Value, key: Value) -> bool:
    if isinstance(holder, Mapping):
        return key in holder
    if isinstance(holder, list):
        return any(_equal(entry, key) for entry in holder)
    raise CelRuntimeError("no such overload: `in` of neither a list nor a mapping")


def _boolean(value: Value) -> bool:
    if not isinstance(value, bool):
        raise CelRuntimeError("no such overload: not a boolean")
    return value


def _equal(left: Value, right: Value) -> bool:
    """Values of different types are not equal."""
    return isinstance(left, bool) == isinstance(right, bool) and bool(left == right)


def _ordered(compare: Callable[[Any, Any], bool], left: Value, right: Value) -> bool:
    if type(left) is not type(right) or not isinstance(left, bool | int | str):
        raise CelRuntimeError("no such overload: values of different types have no order")
    return compare(left, right)


def _any(terms: list[_Term], variables: Variables, *, decides: bool) -> bool:
    """Whether one of the terms has the deciding value; only where none has, one without a value counts."""
    failure: CelRuntimeError | None = None
    for term in terms:
        try:
            if _boolean(term(variables)) is decides:
                return decides
        except CelRuntimeError as error:
            failure = failure or error
    if failure is not None:
        raise failure
    return not decides
