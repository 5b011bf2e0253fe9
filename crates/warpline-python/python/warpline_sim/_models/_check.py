"""Mistakes in handlers that are found before anything is compiled, with file and line."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from .._errors import ConfigurationError
from ._laws import LAWS, OTHERS
from ._records import Record, meant

#: What a context has in every handler.
_CONTEXT = ["below", "bits", "chance", "lp_count", "me", "model", "now", "uniform", "uniform_in"]
_CONTEXT += OTHERS + [name for name, _, _ in LAWS]
#: What it has in some.
_ONLY_IN = {
    "start": ["send"],
    "handle": ["note", "send"],
    "reverse": ["noted", "noted_float"],
}
#: Names that must not be used, and why.
_REFUSED = {
    "random": "draw from the LP's own stream: cx.uniform(), cx.below(n), cx.exponential(mean), "
    "cx.normal(mean, sd) and so on",
    "print": "a handler may be executed and undone; look at the states after the run",
    "objmode": "a handler runs without the interpreter",
    "open": "a handler may be executed and undone; look at the states after the run",
    "input": "a handler may be executed and undone",
}


#: What is no number, whatever it has, by its kind of syntax.
_NO_NUMBER: dict[type[ast.AST], str] = {
    ast.List: "a list",
    ast.ListComp: "a list",
    ast.Tuple: "a tuple",
    ast.Dict: "a dictionary",
    ast.DictComp: "a dictionary",
    ast.Set: "a set",
    ast.SetComp: "a set",
    ast.GeneratorExp: "a generator",
    ast.JoinedStr: "a text",
}


def decorator(role: str) -> str:
    """What is written before a handler."""
    return f"@model.{'handler' if role == 'handle' else role}"


def check(
    handler: Callable[..., Any], role: str, records: tuple[Record, Record, Record]
) -> None:
    """Refuses misspelt fields, and what cannot be undone or repeated.

    Raises:
        ConfigurationError: with the file, the line, and what is allowed.
    """
    try:
        lines, first = inspect.getsourcelines(handler)
    except OSError:
        return  # Typed at a prompt: there is no source to look at.
    tree = ast.parse(textwrap.dedent("".join(lines)))
    function = next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    names = [argument.arg for argument in function.args.args]
    expected = ["state", "cx"] if role == "start" else ["state", "msg", "cx"]
    state, message, parameters = records
    checker = Checker(handler, first, parameters, message)
    if len(names) != len(expected):
        told = f"`{handler.__name__}({', '.join(names)})`"
        checker.refuse(function, f"{told} must have {len(expected)} arguments: {expected}")
    kinds = [state, None] if role == "start" else [state, message, None]
    for name, record in zip(names, kinds, strict=True):
        known = sorted(_CONTEXT + _ONLY_IN[role]) if record is None else record.fields
        owner = f"the context in `{decorator(role)}`" if record is None else f"`{record.name}`"
        checker.known[name] = (owner, known)
    checker.context = names[-1]
    checker.records = {name: record for name, record in zip(names, kinds, strict=True) if record}
    checker.visit(function)


class Checker(ast.NodeVisitor):
    def __init__(
        self, handler: Callable[..., Any], first: int, parameters: Record, message: Record
    ) -> None:
        self.handler, self.first = handler, first
        self.parameters, self.message = parameters, message
        #: Variables whose attributes are known: what they are, and which.
        self.known: dict[str, tuple[str, list[str]]] = {}
        #: The records among them.
        self.records: dict[str, Record] = {}
        self.context = ""

    def refuse(self, node: ast.AST, what: str) -> None:
        line = self.first + getattr(node, "lineno", 1) - 1
        file = inspect.getsourcefile(self.handler)
        raise ConfigurationError(f"{file}:{line}: {what}")

    def attribute(self, node: ast.AST, owner: str, known: list[str], name: str) -> None:
        if name not in known:
            self.refuse(node, f"{owner} has no field `{name}`{meant(name, known)}")

    def _is_model(self, node: ast.AST) -> bool:
        return (
            isinstance(node, ast.Attribute)
            and node.attr == "model"
            and isinstance(node.value, ast.Name)
            and node.value.id == self.context
        )

    def value(self, node: ast.AST, record: Record, name: str, value: ast.AST) -> None:
        """Refuses a list and the like where one number is."""
        for kind, told in _NO_NUMBER.items():
            if isinstance(value, kind) and name in record.numbers:
                what = f"the field `{name}` of `{record.name}` is {record.told(name)}"
                self.refuse(node, f"{what}, and {told} does not fit")

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                record = self.records.get(target.value.id)
                if record is not None:
                    self.value(node, record, target.attr, node.value)
        if self._is_model(node.value) and isinstance(node.targets[0], ast.Name):
            record = self.parameters
            self.known[node.targets[0].id] = (f"`{record.name}`", record.fields)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if isinstance(node.value, ast.Name) and node.value.id in self.known:
            self.attribute(node, *self.known[node.value.id], node.attr)
        elif self._is_model(node.value):
            self.attribute(node, f"`{self.parameters.name}`", self.parameters.fields, node.attr)
        elif node.attr == "random":
            self.refuse(node, f"`random` in a handler: {_REFUSED['random']}")
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in _REFUSED and isinstance(node.ctx, ast.Load):
            self.refuse(node, f"`{node.id}` in a handler: {_REFUSED[node.id]}")

    def visit_Call(self, node: ast.Call) -> None:
        called = node.func
        is_send = (
            isinstance(called, ast.Attribute)
            and called.attr == "send"
            and isinstance(called.value, ast.Name)
            and called.value.id == self.context
        )
        for keyword in node.keywords if is_send else []:
            if keyword.arg is not None and keyword.arg not in ("to", "delay"):
                name = f"`{self.message.name}`"
                self.attribute(keyword, name, self.message.fields, keyword.arg)
                self.value(keyword, self.message, keyword.arg, keyword.value)
        self.generic_visit(node)
