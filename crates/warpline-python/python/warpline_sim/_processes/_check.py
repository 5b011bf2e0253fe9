"""Mistakes in processes that are found before anything is compiled, with file and line."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from typing import Any

from .._models._check import Checker
from .._models._laws import LAWS, OTHERS
from .._models._records import Record, meant
from ._env import AT_ONCE, WAITS

_DRAWS = ["below", "bits", "chance", "uniform", "uniform_in"] + OTHERS
_DRAWS += [name for name, _, _ in LAWS]
#: What an environment has.
_ENV = sorted({*AT_ONCE, *WAITS, *_DRAWS})


def check_process(
    function: Callable[..., Any], site: Record, params: Record, *, is_process: bool
) -> None:
    """Refuses misspelt fields, waits without ``yield``, and what cannot be undone or repeated.

    Raises:
        ConfigurationError: with the file, the line, and what is allowed.
    """
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return  # Typed at a prompt, or a lambda in the middle of a call.
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.Lambda))
    body = next(found, None)
    if body is None or not body.args.args:
        return
    checker = _ProcessChecker(function, first, params, Record("message", site.dtype, {}))
    checker.start(body, site, is_process)


class _ProcessChecker(Checker):
    site: Record
    is_process = False

    def start(self, body: ast.FunctionDef | ast.Lambda, site: Record, is_process: bool) -> None:
        self.context = body.args.args[0].arg
        self.known[self.context] = ("the environment", _ENV)
        self.site, self.is_process = site, is_process
        self.visit(body)

    def _of_env(self, node: ast.AST, names: list[str]) -> str | None:
        """The name of what a node takes of the environment."""
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            return None
        is_env = node.value.id == self.context
        return node.attr if is_env and node.attr in names else None

    def _is_model(self, node: ast.AST) -> bool:
        return self._of_env(node, ["params"]) is not None

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._of_env(node.value, ["site"]):
            self.attribute(node, f"`{self.site.name}`", self.site.fields, node.attr)
        super().visit_Attribute(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            if isinstance(target, ast.Attribute) and self._of_env(target.value, ["site"]):
                self.value(node, self.site, target.attr, node.value)
            if self._of_env(target, _ENV):
                self.refuse(node, f"`{ast.unparse(target)}` cannot be assigned to")
        if isinstance(node.value, ast.Yield):
            self.refuse(node, f"a `yield` has no value: {_HOW_IT_ENDED}")
        super().visit_Assign(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        """A statement: the only place of a `yield`."""
        if not isinstance(node.value, ast.Yield):
            wait = isinstance(node.value, ast.Call) and self._of_env(node.value.func, WAITS)
            if wait and wait != "put":
                self.refuse(
                    node, f"`{self.context}.{wait}` alone does not wait: write `yield` before it"
                )
            self.generic_visit(node)
            return
        asked = node.value.value
        if asked is None:
            self.refuse(node, f"`yield` without a wait: write `yield {self.context}.hold(…)`")
        other = isinstance(asked, ast.Call) and self._of_env(asked.func, _ENV)
        if other and other not in WAITS:
            what = f"`{self.context}.{other}` is no wait{meant(other, WAITS)}"
            self.refuse(node, f"{what}; without `yield`, it is done at once")
        if asked is not None:
            self.generic_visit(asked)

    def visit_Yield(self, node: ast.Yield) -> None:
        self.refuse(node, f"a `yield` is a statement of its own: {_HOW_IT_ENDED}")

    def visit_YieldFrom(self, node: ast.YieldFrom) -> None:
        self.refuse(node, "`yield from`: a process waits in its own body, or spawns another one")

    def visit_Try(self, node: ast.Try) -> None:
        if any(isinstance(inner, ast.Yield) for inner in ast.walk(node)):
            self.refuse(node, f"a `yield` in a `try`: no wait raises anything; {_HOW_IT_ENDED}")
        self.generic_visit(node)


_HOW_IT_ENDED = "`env.granted` tells how the last wait ended, and `env.item` what it got"
