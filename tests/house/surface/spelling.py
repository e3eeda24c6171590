"""Signatures and types as text that does not change when a class moves, nor between versions of Python.

A class is spelt by its public path, an alias by what it is an alias of, a union in one order. A class without a public path is
spelt `internal`: what it is called is not part of the surface.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import numpy as np

INTERNAL = "internal"
IMPORTED = frozenset({"collections", "datetime", "discreet", "fractions", "numpy", "pathlib", "typing"})
"""Packages that are imported to learn what a name in a `TYPE_CHECKING` block is; of all others the name is enough."""


class Foreign:
    """A name of another package in an annotation that is read but never used."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Foreign:
        if name.startswith("__"):
            raise AttributeError(name)
        return Foreign(name)

    def __getitem__(self, arguments: Any) -> types.GenericAlias:
        return types.GenericAlias(self, arguments)  # type: ignore[arg-type]

    def __or__(self, other: Any) -> Union:
        return Union((self, other))

    def __ror__(self, other: Any) -> Union:
        return Union((other, self))

    def __call__(self) -> None:
        """`typing` takes for a type only what can be called."""


class Union:
    """A union with a name of another package in it."""

    def __init__(self, members: tuple[Any, ...]) -> None:
        self.members = members

    def __or__(self, other: Any) -> Union:
        return Union((*self.members, other))

    def __ror__(self, other: Any) -> Union:
        return Union((other, *self.members))


class Speller:
    """Spells types and signatures, given the public paths of classes."""

    def __init__(self, public: Mapping[type, str]) -> None:
        self.public = public
        self.internal: dict[type, None] = {}
        """Classes without a public path that were spelt, in this order."""

    def signature(self, function: Callable[..., Any], *, bound: bool = False) -> str:
        """Parameters and return type; of a method without `self`, of a constructor without the return type."""
        home = inspect.unwrap(function)
        signature = inspect.signature(home)
        parameters = [
            each for each in list(signature.parameters.values())[int(bound) :] if not each.name.startswith("_")
        ]
        text = f"({', '.join(self._parameters(parameters, home))})"
        if signature.return_annotation is signature.empty or home.__name__ == "__init__":
            return text
        return f"{text} -> {self.annotation(signature.return_annotation, home)}"

    def _parameters(self, parameters: list[inspect.Parameter], home: Callable[..., Any]) -> Iterator[str]:
        kinds = [parameter.kind for parameter in parameters]
        for position, parameter in enumerate(parameters):
            earlier = {parameter.VAR_POSITIONAL, parameter.KEYWORD_ONLY} & set(kinds[:position])
            if parameter.kind is parameter.KEYWORD_ONLY and not earlier:
                yield "*"
            stars = {"VAR_POSITIONAL": "*", "VAR_KEYWORD": "**"}.get(parameter.kind.name, "")
            typed = (
                "" if parameter.annotation is parameter.empty else f": {self.annotation(parameter.annotation, home)}"
            )
            default = "" if parameter.default is parameter.empty else f" = {literal(parameter.default)}"
            yield f"{stars}{parameter.name}{typed}{default}"
            if parameter.kind is parameter.POSITIONAL_ONLY and parameter.POSITIONAL_ONLY not in kinds[position + 1 :]:
                yield "/"

    def annotation(self, annotation: Any, home: Any) -> str:
        """An annotation of a function or of a field of a class (`home`)."""
        text = annotation.__forward_arg__ if isinstance(annotation, typing.ForwardRef) else annotation
        return self.spell(evaluated(text, home) if isinstance(text, str) else annotation)

    def spell(self, given: Any) -> str:
        """A type."""
        if given is None or given is types.NoneType:
            return "None"
        if given is ...:
            return "..."
        if isinstance(given, str):
            return given
        if isinstance(given, list):
            return f"[{', '.join(map(self.spell, given))}]"
        if isinstance(given, Foreign):
            return given.name
        if isinstance(given, Union):
            return self._union(given.members)
        if isinstance(given, typing.ForwardRef):
            return given.__forward_arg__.rpartition(".")[2]
        origin, arguments = typing.get_origin(given), typing.get_args(given)
        if origin is not None:
            return self._generic(origin, arguments)
        if typing.is_typeddict(given):
            keys = (f"{key}: {self.annotation(typed, given)}" for key, typed in given.__annotations__.items())
            return f"{{{', '.join(keys)}}}"
        if isinstance(given, type) and is_ours(given):
            return self.public.get(given) or self._internal(given)
        return str(getattr(given, "__name__", None) or repr(given).rpartition(".")[2])

    def _internal(self, given: type) -> str:
        self.internal.setdefault(given)
        return INTERNAL

    def _generic(self, origin: Any, arguments: tuple[Any, ...]) -> str:
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments)
        if origin is typing.Annotated:
            return self.spell(arguments[0])
        if origin is typing.Literal:
            return f"Literal[{', '.join(map(repr, arguments))}]"
        if origin is np.ndarray:  # numpy has spelt the shape in several ways
            element = typing.get_args(arguments[-1]) or arguments[-1:]
            return f"NDArray[{', '.join(map(self.spell, element))}]"
        return f"{self.spell(origin)}[{', '.join(map(self.spell, arguments))}]"

    def _union(self, members: tuple[Any, ...]) -> str:
        spelt = {self.spell(member) for member in members}
        return " | ".join([*sorted(spelt - {"None"}), *sorted(spelt & {"None"})])


def is_ours(given: type) -> bool:
    """Whether a class is defined in the package."""
    return given.__module__.partition(".")[0] == "discreet"


def literal(value: Any) -> str:
    """A default as one would type it; `...` where that is not possible.

    >>> literal((1, "a", None)), literal(float("inf")), literal(object())
    ("(1, 'a', None)", 'inf', '...')
    """
    if isinstance(value, tuple | list):
        elements = [literal(element) for element in value]
        return "..." if "..." in elements else f"({', '.join(elements)})"
    if isinstance(value, frozenset | set):
        return literal(sorted(value, key=str))
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value) if value is None or isinstance(value, bool | int | float | str | bytes) else "..."


def evaluated(text: str, home: Any) -> Any:
    """What an annotation means where it is written; its text where that cannot be evaluated."""
    try:
        return eval(text, {"__builtins__": {}}, Scope(home))  # noqa: S307 - our own source
    except (NameError, TypeError, AttributeError):
        return text


class Scope(dict[str, Any]):
    """The names that an annotation of a function or a class may use."""

    def __init__(self, home: Any) -> None:
        super().__init__()
        self.module = importlib.import_module(home.__module__)

    def __missing__(self, name: str) -> Any:
        for scope in (vars(self.module), vars(builtins), imported_for_types(self.module)):
            if name in scope:
                return scope[name]
        raise NameError(name)


@cache
def imported_for_types(module: types.ModuleType) -> Mapping[str, Any]:
    """What a module imports under `if TYPE_CHECKING:`."""
    names: dict[str, Any] = {}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for line in node.body:
                if isinstance(line, ast.ImportFrom):
                    names |= {
                        alias.asname or alias.name: imported(line.module or "", alias.name) for alias in line.names
                    }
                elif isinstance(line, ast.Import):
                    names |= {alias.asname or alias.name: Foreign(alias.name) for alias in line.names}
    return names


def imported(module: str, name: str) -> Any:
    """A name of a module."""
    if module.partition(".")[0] not in IMPORTED:
        return Foreign(name)
    home = importlib.import_module(module)
    return getattr(home, name) if hasattr(home, name) else importlib.import_module(f"{module}.{name}")
