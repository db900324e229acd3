"""How to reproduce a fit: the command, the same as a TOML file, the versions."""

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
from committee.cli.report.markup import Section, escape, make_html_table

__all__ = ["Reproduction", "describe_reproduction", "read_reproduction"]

# Options that do not change the model, and the option file, whose entries are listed with the others.
_LEFT_OUT = frozenset({"config", "debug", "json", "help", "output", "report", "no-report", "no-save"})
_ALWAYS = frozenset({"seed"})
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "pyarrow", "narwhals")


@dataclass(frozen=True)
class Reproduction:
    """A call of the command, in two forms.

    Parameters
    ----------
    command : str
        For a shell.
    toml : str
        For ``--config``.
    """

    command: str
    toml: str


def read_reproduction(context: typer.Context) -> Reproduction:
    """The call of a command, with options from files.

    Parameters
    ----------
    context : typer.Context
        Of the command, with all options parsed.

    Returns
    -------
    Reproduction
        Without default values.
    """
    words, lines, tables = ["committee", str(context.info_name)], [], []
    arguments: list[str] = []
    for param in context.command.params:
        long = next((name.removeprefix("--") for name in param.opts if name.startswith("--")), None)
        key, value = long or str(param.name), context.params.get(str(param.name))
        default = param.get_default(context)
        if key in _LEFT_OUT or value is None or value == [] or value == ():
            continue
        # A file of options replaces the default in the context, not the declared one.
        declared = getattr(param, "default", default)
        own_default = declared() if callable(declared) else declared
        if value == own_default and key not in _ALWAYS and long is not None:
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
    return Reproduction(shlex.join(words[:2] + arguments + words[2:]), "\n".join(lines + tables))


def _write_settings(settings: Mapping[str, Any]) -> list[str]:
    lines = ["", "[set]"]
    for name, value in settings.items():
        if value is None:
            lines.append(f"# {name} = None has no TOML; add --set {name}=None")
        else:
            lines.append(f"{_write_toml_key(name)} = {_write_toml(value)}")
    return lines


def _write_toml_key(name: str) -> str:
    plain = all(letter.isascii() and (letter.isalnum() or letter in "_-") for letter in name)
    return name if plain and name else _write_toml(name)


def _write_toml(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_write_toml, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_write_toml_key(str(k))} = {_write_toml(v)}" for k, v in value.items()) + " }"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in text) + '"'


def describe_reproduction(reproduction: Reproduction, parameters: Mapping[str, Any]) -> Section:
    """How to reproduce the fit.

    Parameters
    ----------
    reproduction : Reproduction
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
            "The number of members depends on the speed of the machine, because of the time budget; with --set "
            "n_members=N in place of --time, the same versions give the same model, bit for bit."
        )
    settings = [[escape(name), escape(repr(value))] for name, value in parameters.items()]
    parts = [
        f"<p>The command:</p>\n<pre>{escape(reproduction.command)}</pre>",
        f"<p>The same as a file for <code>--config</code>:</p>\n<pre>{escape(reproduction.toml)}</pre>",
        f"<p>{same}</p>",
        make_html_table(["library", "version"], rows, "Versions"),
        make_html_table(["parameter", "value"], settings, "All parameters of the model"),
    ]
    return Section("repeat", "Reproduction", "\n".join(parts))


def _find_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
