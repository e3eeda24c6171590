"""Public Python names: their kinds and signatures, and the public members of public classes."""

from __future__ import annotations

import ast
import dataclasses
import enum
import functools
import importlib
import inspect
import textwrap
import types
import typing
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tests.house.surface.snapshot import Items
from tests.house.surface.spelling import Speller, is_ours, literal

ROOMS = (
    "anonymity", "attacker", "cli", "errors", "gateway", "kernel", "ledger", "linkage", "misuse", "people", "policy", "releases",
    "report", "risk", "sources", "store", "web",
)  # fmt: skip
MODULES = (
    "attacker.process", "ledger.merkle", "ledger.verifier", "misuse.anomalies", "misuse.elicitation", "misuse.generated",
    "misuse.incidents", "misuse.log", "people.registry", "releases.joins", "releases.laws", "releases.power", "report.project",
)  # fmt: skip
"""Modules that the documentation refers users to; all their public names count."""
OPERATORS = (
    "__call__", "__len__", "__iter__", "__next__", "__getitem__", "__contains__", "__enter__", "__exit__", "__aenter__",
    "__aexit__", "__add__", "__sub__", "__mul__", "__and__", "__or__", "__bool__", "__int__", "__float__", "__bytes__",
    "_repr_html_",
)  # fmt: skip
"""Members that users call by an operator, or that notebooks call."""
MEMBER = ("value", "method", "class method", "static method")
"""How descriptions of members begin; those of names in a module begin otherwise."""
Annotation = tuple[Any, Any]
"""An annotation, and the function or class that it belongs to."""


class Names:
    """The public names, by path.

    `documented` are paths that the documentation names. `agreed` are the items of the snapshot: one of its paths counts as long as
    it leads somewhere, even if its module now imports what it used to define; unless the module has an `__all__` without it.
    """

    def __init__(self, documented: Iterable[str] = (), agreed: Mapping[str, str] | None = None) -> None:
        retained = (path for path, text in (agreed or {}).items() if not text.startswith(MEMBER) and _is_public(path))
        paths = {*_listed(), *(_in_module(path) for path in documented if leads_somewhere(path)), *retained}
        self.objects = {path: resolved(path) for path in sorted(paths, key=lambda path: (path.count("."), path))}
        self.classes: dict[type, str] = {}
        """Each public class with the shortest path that leads to it."""
        for path, target in self.objects.items():
            if isinstance(target, type) and is_ours(target):
                self.classes.setdefault(target, path)
        self.speller = Speller({cls: path.removeprefix("discreet.") for cls, path in self.classes.items()})

    def items(self) -> Items:
        """All names; the members of a class are listed below its shortest path."""
        items: Items = {}
        for path, target in self.objects.items():
            if isinstance(target, type) and self.classes.get(target, path) != path:
                items[path] = f"the same as {self.classes[target]}"
            else:
                items |= described(path, target, self.speller)
        return items

    def reached(self) -> Items:
        """Members of classes without a public path, by the first public member or function that returns one."""
        ways: dict[type, str] = {}
        for path, target in self.objects.items():
            for way, annotation in _returned(path, target):
                self.speller.internal.clear()
                self.speller.annotation(*annotation)
                for cls in self.speller.internal:
                    ways.setdefault(cls, way)
        return {name: text for cls, way in ways.items() for name, text in _members(way, cls, self.speller).items()}


def _listed() -> Iterator[str]:
    for module_path in ("discreet", *(f"discreet.{name}" for name in (*ROOMS, *MODULES))):
        module = importlib.import_module(module_path)
        for name in getattr(module, "__all__", None) or _defined(module):
            yield f"{module_path}.{name}"


def _defined(module: types.ModuleType) -> list[str]:
    """Public names that a module without `__all__` defines."""
    names = set()
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return [name for name in names if not name.startswith("_") and not _is_alias(getattr(module, name))]


def _is_alias(target: Any) -> bool:
    """Whether something is a name for a type, of use in annotations only."""
    return typing.get_origin(target) is not None or isinstance(target, typing.TypeVar)


def _is_public(path: str) -> bool:
    name = path.rpartition(".")[2]
    return leads_somewhere(path) and name in getattr(_parent(path), "__all__", (name,))


def _in_module(path: str) -> str:
    """The path itself or, for a member of a class, that of the class."""
    return path.rpartition(".")[0] if isinstance(_parent(path), type) else path


def _parent(path: str) -> Any:
    parent = path.rpartition(".")[0]
    try:
        return importlib.import_module(parent)
    except ModuleNotFoundError:
        return resolved(parent)


def resolved(path: str) -> Any:
    """The object at a dotted path; an AttributeError or ModuleNotFoundError if there is none."""
    names = path.split(".")
    for length in range(len(names) - 1, 0, -1):
        try:
            module = importlib.import_module(".".join(names[:length]))
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith("discreet"):
                raise
            continue
        is_submodule = length == len(names) - 1 and not hasattr(module, names[-1]) and hasattr(module, "__path__")
        return importlib.import_module(path) if is_submodule else functools.reduce(getattr, names[length:], module)
    raise ModuleNotFoundError(path)


def leads_somewhere(path: str) -> bool:
    """Whether there is an object at a dotted path."""
    try:
        resolved(path)
    except (AttributeError, ModuleNotFoundError):
        return False
    return True


def described(path: str, target: Any, speller: Speller) -> Items:
    """A name and, for a class of ours, its members."""
    if isinstance(target, type):
        return {path: _class(target, speller), **(_members(path, target, speller) if is_ours(target) else {})}
    if inspect.ismodule(target):
        return {path: "module"}
    if _is_alias(target):
        return {path: f"type {speller.spell(target)}"}
    if inspect.isroutine(target):
        return {path: f"function {speller.signature(target)}"}
    if isinstance(target, Mapping):
        return {path: f"mapping of {', '.join(sorted(map(str, target)))}"}
    if is_ours(type(target)):
        return {path: f"constant {speller.spell(type(target))}"}
    return {path: f"constant {type(target).__name__} {literal(target)}"}


def _class(cls: type, speller: Speller) -> str:
    bases = [speller.public[base] for base in cls.__mro__[1:] if base in speller.public]
    is_a = f" is a {', '.join(bases)}" if bases else ""
    if issubclass(cls, enum.Enum):
        return f"enumeration{is_a} of {', '.join(member.name for member in cls)}"
    if getattr(cls, "_is_protocol", False):
        return f"protocol{is_a}"
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return f"tuple{is_a} of {', '.join(cls._fields)}"
    makers = [name for name in ("__init__", "__new__") if any(name in vars(base) for base in _bases(cls))]
    return f"class{is_a} {speller.signature(getattr(cls, makers[0]), bound=True)}" if makers else f"class{is_a}"


def _bases(cls: type) -> list[type]:
    """The class and what it inherits from, as far as it is ours."""
    return [base for base in cls.__mro__ if is_ours(base)]


def _members(path: str, cls: type, speller: Speller) -> Items:
    items: Items = {}
    for base in reversed(_bases(cls)):
        for name, annotation in _fields(base).items():
            items[f"{path}.{name}"] = f"value {speller.annotation(annotation, base)}" if annotation else "value"
        items |= {f"{path}.{name}": _member(member, speller) for name, member in _methods(base)}
    return items


def _fields(base: type) -> dict[str, Any]:
    """Public fields with their annotations: declared in the class, or set in `__init__`."""
    fields = dict(vars(base).get("__annotations__", {}))
    maker = vars(base).get("__init__")
    if not dataclasses.is_dataclass(base) and inspect.isfunction(maker):
        for name, annotation in _set_in(maker):
            fields.setdefault(name, annotation)
    return {name: annotation for name, annotation in fields.items() if not name.startswith("_")}


def _set_in(maker: types.FunctionType) -> Iterator[tuple[str, str | None]]:
    """Attributes of `self` that a constructor sets."""
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(maker)))):
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else None
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            for part in target.elts if isinstance(target, ast.Tuple) else [target]:
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
                    yield part.attr, annotation


def _methods(base: type) -> Iterator[tuple[str, Any]]:
    """Public methods and properties."""
    kinds = (classmethod, staticmethod, property, functools.cached_property, types.FunctionType)
    fields = vars(base).get("__annotations__", {})  # a field may have a function as its default
    for name, member in vars(base).items():
        if isinstance(member, kinds) and name not in fields and (not name.startswith("_") or name in OPERATORS):
            yield name, member


def _member(member: Any, speller: Speller) -> str:
    if isinstance(member, classmethod):
        return f"class method {speller.signature(member.__func__, bound=True)}"
    if isinstance(member, staticmethod):
        return f"static method {speller.signature(member.__func__)}"
    if isinstance(member, types.FunctionType):
        return f"method {speller.signature(member, bound=True)}"
    return f"value {speller.annotation(*_return_annotation(member))}"


def _return_annotation(member: Any) -> Annotation:
    """What a function, method or property returns."""
    if isinstance(member, property):
        function: Any = member.fget
    else:
        function = getattr(member, "func", None) or getattr(member, "__func__", member)
    home = inspect.unwrap(function)
    return inspect.signature(home).return_annotation, home


def _returned(path: str, target: Any) -> Iterator[tuple[str, Annotation]]:
    """All that a public name gives its users, each with the path to it."""
    if isinstance(target, type) and is_ours(target):
        for base in _bases(target):
            yield from (
                (f"{path}.{name}", (annotation, base)) for name, annotation in _fields(base).items() if annotation
            )
            yield from ((f"{path}.{name}", _return_annotation(member)) for name, member in _methods(base))
    elif inspect.isfunction(target):
        yield path, _return_annotation(target)
