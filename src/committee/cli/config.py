"""Options from a TOML file: same names and checks as on the command line, which takes precedence."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

from committee.cli.errors import DATA, USAGE, CommandError, suggest

__all__ = ["apply_config"]

# Options that a file cannot set: the file itself, and those of a single call.
_ONLY_TYPED = frozenset({"config", "debug", "help"})


def apply_config(context: typer.Context, path: str | None) -> str | None:
    """Make the entries of a file the defaults of a command.

    Parameters
    ----------
    context : typer.Context
        Of the command; its other options are parsed after this one.
    path : str or None
        The file.

    Returns
    -------
    str or None
        The path, unchanged.
    """
    if path is None or context.resilient_parsing:
        return path
    known = {_name_option(param.opts, str(param.name)): str(param.name) for param in context.command.params}
    defaults: dict[str, object] = {}
    for key, value in _read_toml(path).items():
        name = known.get(key.replace("_", "-"))
        if name is None or key in _ONLY_TYPED:
            allowed = sorted(set(known) - _ONLY_TYPED)
            raise CommandError(f"'{path}' has an unknown entry '{key}'.", suggest(key, allowed, len(allowed)), USAGE)
        defaults[name] = _read_value(path, key, value)
    context.default_map = defaults
    return path


def _name_option(spellings: Sequence[str], name: str) -> str:
    """The long option without its hyphens, or the name of an argument."""
    options = [option.removeprefix("--") for option in spellings if option.startswith("--")]
    return options[0] if options else name


def _read_toml(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(
            f"The file '{path}' could not be read: {error.strerror}.", "Give --config the path of a TOML file.", USAGE
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(
            f"'{path}' is not valid TOML: {error}.", 'Write one entry per line, for instance target = "price".', DATA
        ) from error
    except ValueError as error:  # a name with a zero byte
        raise CommandError(
            f"The file {path!r} could not be read: {error}.", "Give --config the path of a TOML file.", USAGE
        ) from error
    except RecursionError as error:
        raise CommandError(f"'{path}' is nested too deeply.", "Write short lists and tables.", DATA) from error


def _read_value(path: str, key: str, value: object) -> object:
    if key == "set":
        if not isinstance(value, dict):
            raise CommandError(
                f"The entry 'set' of '{path}' must be a table.", "Write [set] and below it max_depth = 3.", USAGE
            )
        return [f"{name}={setting!r}" for name, setting in _flatten_settings(value)]
    if isinstance(value, dict):
        raise CommandError(f"The entry '{key}' of '{path}' must not be a table.", f"Write {key} = …", USAGE)
    return value


def _flatten_settings(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Settings by name; those of a nested table get its name and a dot as prefix."""
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        inner = isinstance(value, dict)
        found += _flatten_settings(value, f"{prefix}{name}.") if inner else [(f"{prefix}{name}", value)]
    return found
