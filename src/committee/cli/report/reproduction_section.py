"""What somebody needs to do it again: the command, the same as a file, the versions."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import typer

import committee
from committee.cli.options import parse_settings
from committee.cli.report.markup import Section, escape, make_table

__all__ = ["Recipe", "describe_recipe", "read_recipe"]

# Not what is computed, but what becomes of it; and what has been applied to the others.
_LEFT_OUT = frozenset({"config", "debug", "json", "help", "output", "report", "no-report"})
_ALWAYS = frozenset({"seed"})
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyarrow", "narwhals")


@dataclass(frozen=True)
class Recipe:
    """A call, in two forms.

    Parameters
    ----------
    command : str
        For a shell.
    toml : str
        For ``--config``.
    """

    command: str
    toml: str


def read_recipe(context: typer.Context) -> Recipe:
    """How a command was called, options from files included.

    Parameters
    ----------
    context : typer.Context
        Of the command, with all its options read.

    Returns
    -------
    Recipe
        With defaults left out.
    """
    words, lines, tables = ["committee", str(context.info_name)], [], []
    arguments: list[str] = []
    for param in context.command.params:
        long = next((name.removeprefix("--") for name in param.opts if name.startswith("--")), None)
        key, value = long or str(param.name), context.params.get(str(param.name))
        default = param.get_default(context)
        if key in _LEFT_OUT or value is None or value == [] or value == ():
            continue
        if value == _find_own_default(param, default) and key not in _ALWAYS and long is not None:
            continue
        if long is None:
            arguments.append(str(value))
            lines.append(f"{key} = {_write_toml(value)}")
        elif key == "set":
            words += [word for setting in value for word in ("--set", setting)]
            tables = _write_settings(parse_settings(list(value)))
        elif isinstance(value, bool):
            words.append(f"--{key}" if value else param.secondary_opts[0] if param.secondary_opts else f"--no-{key}")
            lines.append(f"{key} = {_write_toml(value)}")
        else:
            listed = list(value) if isinstance(value, (list, tuple)) else [value]
            words += [word for one in listed for word in (f"--{key}", str(one))]
            lines.append(f"{key} = {_write_toml(value)}")
    return Recipe(shlex.join(words[:2] + arguments + words[2:]), "\n".join(lines + tables))


def _find_own_default(param: Any, found: Any) -> Any:
    """The default that the command declares; a file of options replaces it in the context."""
    declared = getattr(param, "default", found)
    return declared() if callable(declared) else declared


def _write_settings(settings: Mapping[str, Any]) -> list[str]:
    lines = ["", "[set]"]
    for name, value in settings.items():
        if value is None:
            lines.append(f"# {name} = None has no TOML; add --set {name}=None")
        else:
            lines.append(f"{_write_key(name)} = {_write_toml(value)}")
    return lines


def _write_key(name: str) -> str:
    plain = all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)
    return name if plain and name else _write_toml(name)


def _write_toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_write_toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_write_key(str(k))} = {_write_toml(v)}" for k, v in value.items()) + " }"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text) + '"'


def describe_recipe(recipe: Recipe, parameters: Mapping[str, Any]) -> Section:
    """How to do it again.

    Parameters
    ----------
    recipe : Recipe
        The call.
    parameters : mapping of str to object
        All parameters of the model.

    Returns
    -------
    Section
    """
    rows = [["committee", escape(committee.__version__)], ["Python", escape(platform.python_version())]]
    rows += [[name, escape(_find_version(name))] for name in _LIBRARIES]
    rows.append(["system", escape(f"{platform.system()} {platform.machine()}")])
    same = "The same versions give the same model, bit for bit, for any number of threads."
    if parameters.get("time_budget") is not None:
        same = (
            "How many members there are depends on the speed of the machine, since their time was limited; with --set "
            "n_members=N in place of --time, the same versions give the same model, bit for bit."
        )
    settings = [[escape(name), escape(repr(value))] for name, value in parameters.items()]
    parts = [
        f"<p>The command:</p>\n<pre>{escape(recipe.command)}</pre>",
        f"<p>The same as a file for <code>--config</code>:</p>\n<pre>{escape(recipe.toml)}</pre>",
        f"<p>{same}</p>",
        make_table(["library", "version"], rows, "Versions"),
        make_table(["parameter", "value"], settings, "All parameters of the model"),
    ]
    return Section("repeat", "To repeat it", "\n".join(parts))


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
