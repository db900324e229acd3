"""Options from a TOML file: the same names and checks as on the command line, which goes before it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import typer

from committee.cli.errors import DATA, USAGE, CommandError, suggest

__all__ = ["apply_config"]

# Not in a file: itself, and what is about a single call.
_ONLY_TYPED = frozenset({"config", "debug", "help"})


def apply_config(context: typer.Context, path: str | None) -> str | None:
    """Make the entries of a file the defaults of a command.

    Parameters
    ----------
    context : typer.Context
        Of the command; its other options are read after this one.
    path : str or None
        The file.

    Returns
    -------
    str or None
        The path, as it came.
    """
    if path is None or context.resilient_parsing:
        return path
    known = {_write_key(param): param.name for param in context.command.params}
    defaults: dict[str, Any] = {}
    for key, value in _read_toml(path).items():
        name = known.get(key.replace("_", "-"))
        if name is None or key in _ONLY_TYPED:
            allowed = sorted(set(known) - _ONLY_TYPED)
            raise CommandError(f"'{path}' has an unknown entry '{key}'.", suggest(key, allowed, len(allowed)), USAGE)
        defaults[name] = _read_value(path, key, value)
    context.default_map = defaults
    return path


def _write_key(param: Any) -> str:
    """The long option without its hyphens, or what an argument stands for."""
    options = [option.removeprefix("--") for option in param.opts if option.startswith("--")]
    return options[0] if options else str(param.name)


def _read_toml(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CommandError(
            f"The file '{path}' could not be read: {error.strerror}.", "Give --config the path of a TOML file.", USAGE
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise CommandError(
            f"'{path}' is no TOML: {error}.", 'Write one entry a line, for instance target = "price".', DATA
        ) from error


def _read_value(path: str, key: str, value: Any) -> Any:
    if key == "set":
        if not isinstance(value, dict):
            raise CommandError(
                f"The entry 'set' of '{path}' must be a table.", "Write [set] and below it max_depth = 3.", USAGE
            )
        return [f"{name}={setting!r}" for name, setting in _flatten(value)]
    if isinstance(value, dict):
        raise CommandError(f"The entry '{key}' of '{path}' must not be a table.", f"Write {key} = …", USAGE)
    return value


def _flatten(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Settings by name; those of a table in the table get its name and a dot before theirs."""
    found: list[tuple[str, Any]] = []
    for name, value in table.items():
        inner = isinstance(value, dict)
        found += _flatten(value, f"{prefix}{name}.") if inner else [(f"{prefix}{name}", value)]
    return found
