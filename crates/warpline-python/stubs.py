"""Writes the types that come from the native part of the package; ``--check`` compares them.

    python crates/warpline-python/stubs.py [--check]

``_native.pyi`` has the functions of the installed module, as pyo3 has written them into it (feature
``experimental-inspect``). ``_settings.py`` has the keywords of all calls, as ``_native.keywords``
tells them: those of the command's flags, and of the models'.
"""

from __future__ import annotations

import json
import mmap
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

from warpline_sim import _native

PACKAGE = Path(__file__).parent / "python" / "warpline_sim"
WIDTH = 100

#: By module: the names that a stub imports.
Imports = dict[str, set[str]]

Json = dict[str, Any]

# The native module.


def described(library: Path) -> list[Json]:
    """What pyo3 has written into a library: JSON objects for the module and all that it has."""
    found = []
    with library.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        # The length of an object is before it.
        for start in re.finditer(rb'\{"(?:annotation|arguments|doc)":', data):
            length = int.from_bytes(data[start.start() - 4 : start.start()], sys.byteorder)
            try:
                value = json.loads(data[start.start() : start.start() + length])
            except ValueError:  # an object within another one
                continue
            found.append(value)
    return found


def expression(tree: Json, imports: Imports) -> str:
    """A type or a value, as Python writes it; adds what it needs to the imports."""
    match tree["type"]:
        case "name":
            return str(tree["id"])
        case "attribute":
            name, module = str(tree["attr"]), expression(tree["value"], imports)
            if module != "builtins":
                imports.setdefault(module, set()).add(name)
            return name
        case "binop":
            sides = [expression(tree[side], imports) for side in ("left", "right")]
            return " | ".join(dict.fromkeys(" | ".join(sides).split(" | ")))
        case "subscript":
            inner = expression(tree["slice"], imports)
            if tree["slice"]["type"] == "tuple":
                inner = inner.strip("()")
            return f"{expression(tree['value'], imports)}[{inner}]"
        case "tuple":
            return f"({', '.join(expression(one, imports) for one in tree['elts'])})"
        case "constant" if tree["kind"] == "none":
            return "None"
        case "constant" if tree["kind"] == "str":  # a type that the function's attribute says
            return str(tree["value"])
        case _:
            raise NotImplementedError(f"a stub with {tree}")


def native_stub(library: Path) -> str:
    """The stub of the native module."""
    members = {one["name"]: one for one in described(library) if one["type"] != "module"}
    imports: Imports = {}
    aliases: dict[str, str] = {}
    parts = []
    for name, one in sorted(members.items()):
        if one["type"] == "attribute":
            parts.append(f"{name}: {expression(one['annotation'], imports)}\n")
        else:
            parts.append(function(one, imports, aliases))
    from_modules = [
        f"from {module} import {', '.join(sorted(names))}\n"
        for module, names in sorted(imports.items())
    ]
    exported = "".join(f'    "{name}",\n' for name in sorted(members))
    long = [f"{alias} = {kind}\n" for kind, alias in aliases.items()]
    head = f"{''.join(from_modules)}\n__all__ = [\n{exported}]\n\n{''.join(long)}\n"
    return head + "\n".join(parts)


def function(one: Json, imports: Imports, aliases: dict[str, str]) -> str:
    """A function of the stub, with its text; long types have a name."""
    if set(one["arguments"]) - {"args"}:
        raise NotImplementedError(f"a stub with {one['arguments']}")
    arguments = []
    for argument in one["arguments"].get("args", []):
        kind, default = expression(argument["annotation"], imports), argument.get("default")
        if len(kind) > WIDTH / 2:
            kind = aliases.setdefault(kind, f"_{argument['name'].title()}")
        value = f" = {expression(default, imports)}" if default else ""
        arguments.append(f"{argument['name']}: {kind}{value}")
    returns = expression(one["returns"], imports)
    head = f"def {one['name']}({', '.join(arguments)}) -> {returns}:"
    if len(head) > WIDTH:
        inner = "".join(f"    {argument},\n" for argument in arguments)
        head = f"def {one['name']}(\n{inner}) -> {returns}:"
    return f"{head}\n{docstring(one['doc'])}\n"


def docstring(text: str) -> str:
    """A text below what it is about."""
    text = " ".join(text.replace("\\", "\\\\").split())
    return textwrap.fill(f'"""{text}"""', WIDTH, initial_indent="    ", subsequent_indent="    ")


# The keywords of calls.

TYPES = {
    "switch": "bool",
    "false": "Literal[False]",
    "integer": "int",
    "number": "float",
    "text": "str",
    "path": "str | PathLike[str]",
}


class Keyword:
    """A keyword of one or several models."""

    def __init__(self) -> None:
        self.words: dict[str, None] = {}
        self.types: dict[str, None] = {}
        self.is_list = False
        self.is_own = False
        #: By its text: the models.
        self.help: dict[str, list[str]] = {}

    def add(self, one: Json, model: str) -> None:
        self.words.update(dict.fromkeys(one["words"]))
        self.types.update(dict.fromkeys(one["types"]))
        self.is_list |= "list" in one["types"]
        self.is_own |= one["is_own"]
        self.help.setdefault(one["help"], []).append(model)

    def __str__(self) -> str:
        plain = " | ".join(text for kind, text in TYPES.items() if kind in self.types)
        types = list(dict.fromkeys(plain.split(" | "))) if plain else []
        if self.is_list:
            types.append(f"Sequence[{' | '.join(types)}]")
        if self.words:
            types.insert(0, f"Literal[{', '.join(json.dumps(word) for word in self.words)}]")
        return " | ".join([*types, "None"])

    def text(self) -> str:
        if len(self.help) == 1:
            return next(iter(self.help))
        return "; ".join(f"{', '.join(models)}: {text}" for text, models in self.help.items())


def merged(lists: dict[str, list[Json]]) -> dict[str, Keyword]:
    """The keywords of all models."""
    all_keywords: dict[str, Keyword] = {}
    for model, keywords in lists.items():
        for one in keywords:
            all_keywords.setdefault(one["name"], Keyword()).add(one, model)
    return all_keywords


def fields(keywords: dict[str, Keyword], names: set[str]) -> str:
    """The keys of a class, with their texts."""
    text = ""
    for name in sorted(names):
        key = f"    {name}: {keywords[name]}"
        if len(key) > WIDTH:
            kinds = str(keywords[name]).split(" | ")
            lines = "".join(
                textwrap.indent(folded(kind, "| " if n else ""), "        ") + "\n"
                for n, kind in enumerate(kinds)
            )
            key = f"    {name}: (\n{lines}    )"
        text += f"{key}\n{docstring(keywords[name].text())}\n"
    return text


def folded(kind: str, before: str) -> str:
    """A type that may be too long for a line."""
    if len(kind) + 10 <= WIDTH or not kind.startswith("Literal["):
        return before + kind
    inner = kind.removeprefix("Literal[").removesuffix("]")
    lines = textwrap.indent(textwrap.fill(inner, WIDTH - 16), "    ")
    return f"{before}Literal[\n{lines},\n]"


def settings() -> str:
    """The module with the types of keywords."""
    told = json.loads(_native.keywords())
    run, sweep = merged(told["run"]), merged(told["sweep"])
    own, lab = merged({"": told["made"]}), merged({"": told["lab"]})
    # `Model.run` has `placement` as an argument of its own, as `replicate` has `replications`.
    models = {name for name, keyword in run.items() if keyword.is_own} | {"placement"}
    common = set(own) & set(sweep) - models
    single = set(own) - common - models
    several = {"replications"}
    if set(run) != common | single | models | several or set(sweep) != common | models | several:
        raise NotImplementedError(f"keywords of their own: {set(run) ^ set(sweep)}")
    classes = [
        ("CommonSettings(TypedDict, total=False)", "Of every run.", common),
        ("OwnSettings(CommonSettings, total=False)", "Of a model of one's own.", single),
        ("ModelSettings(TypedDict, total=False)", "Of the models that are there.", models),
        ("ReplicateSettings(OwnSettings, ModelSettings, total=False)", "Of ``replicate``.", set()),
        ("RunSettings(ReplicateSettings, total=False)", "Of ``run``.", several),
        ("SweepSettings(CommonSettings, ModelSettings, total=False)", "Of ``sweep``.", several),
    ]
    text = (
        '"""The keywords of calls, for type checkers and editors. Written by ``stubs.py``."""\n\n'
        "from collections.abc import Sequence\nfrom os import PathLike\n"
        "from typing import Literal, TypedDict\n\n"
    )
    for alias, about, words in [
        ("ModelName", "The models that are there.", told["run"]),
        ("EngineName", "The engines.", run["engine"].words),
    ]:
        literal = f"Literal[{', '.join(json.dumps(word) for word in words)}]"
        text += f'{alias} = {folded(literal, "")}\n"""{about}"""\n'
    for head, about, names in classes:
        keys = "\n" + fields(run, names) if names else ""
        text += f'\n\nclass {head}:\n    """{about}"""\n{keys}'
    text += '\n\nclass LabSettings(TypedDict, total=False):\n    """Of ``lab``."""\n\n'
    return text + fields(lab, set(lab) - {"output"})


def main() -> None:
    files = {
        PACKAGE / "_native.pyi": native_stub(Path(str(_native.__file__))),
        PACKAGE / "_settings.py": settings(),
    }
    if "--check" not in sys.argv:
        for path, text in files.items():
            path.write_text(text, encoding="utf-8")
        return
    for path, text in files.items():
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            command = "python crates/warpline-python/stubs.py"
            sys.exit(f"{path} is not what the native module says: run `{command}`")


if __name__ == "__main__":
    main()
