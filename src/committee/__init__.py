"""Ensemble learning on one fast engine, behind scikit-learn's interface.

Every public name is importable from here and loaded when it is first used, so that ``import committee`` costs
little more than ``import sklearn.base``.
"""

from importlib import import_module

__version__ = "0.1.0"

# Where each public name lives; the imports below say the same to type checkers and editors.
_HOMES: dict[str, str] = {}

__all__ = ["__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'committee' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
