"""Where ``committee fit`` and ``committee report`` write the model and the report.

A path that the user named is followed. Any other name is chosen so that no file is written over: a number is added.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from committee.cli.errors import USAGE, CommandError
from committee.cli.output import LONGEST_NAME, check_output_path, is_same_file, make_write_error
from committee.cli.table import cut_format

__all__ = ["DEMONSTRATION", "FitPlaces", "OutputOptions", "OutputPlace", "WrittenFile", "choose_page", "choose_places"]

# The table of `committee fit` without arguments, and the folder for what it makes.
DEMONSTRATION = "breast_cancer"
_DEMO_FOLDER = Path("committee-demo")
_MODEL, _REPORT = ".committee", ".report.html"


@dataclass(frozen=True)
class OutputOptions:
    """The options of ``committee fit`` about its files.

    Parameters
    ----------
    output, report : str or None
        Values of ``--output`` and ``--report``.
    no_report, no_save : bool
        Values of ``--no-report`` and ``--no-save``.
    """

    output: str | None = None
    report: str | None = None
    no_report: bool = False
    no_save: bool = False


@dataclass(frozen=True)
class OutputPlace:
    """A file to be written.

    Parameters
    ----------
    path : pathlib.Path
        Its path.
    ending : str
        The end of its name, which a number is put before.
    replaces : bool
        Whether a file of that name may be replaced; otherwise a number is added.
    """

    path: Path
    ending: str
    replaces: bool = True

    @contextmanager
    def reserve(self, folder: Path | None = None) -> Iterator[Path]:
        """Create the file, empty, so that no other process takes its name; if it stays empty, it is removed.

        Parameters
        ----------
        folder : pathlib.Path or None
            The folder of the file, in place of that of its path.

        Yields
        ------
        pathlib.Path
            With another number, if the name has been taken since it was chosen.
        """
        path = self.path if folder is None else folder / self.path.name
        if self.replaces:
            yield path
            return
        path = _reserve_name(path, self.ending)
        try:
            yield path
        finally:
            if path.is_file() and path.stat().st_size == 0:
                path.unlink()


@dataclass(frozen=True)
class WrittenFile:
    """A file that was written.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    n_bytes : int
        Its size.
    """

    path: Path
    n_bytes: int


@dataclass(frozen=True)
class FitPlaces:
    """The files that a fit writes.

    Parameters
    ----------
    model, report : OutputPlace or None
        None for what is not written.
    folder : pathlib.Path or None
        A new folder for them.
    """

    model: OutputPlace | None = None
    report: OutputPlace | None = None
    folder: Path | None = None

    def write(
        self, write_model: Callable[[Path], int], write_report: Callable[[Path], int]
    ) -> tuple[WrittenFile | None, WrittenFile | None]:
        """Write the files.

        Parameters
        ----------
        write_model, write_report : callable
            Write to a path, and return the number of bytes.

        Returns
        -------
        tuple of WrittenFile or None
            The model and the report.
        """
        folder = None if self.folder is None else _make_folder(self.folder)
        written: list[WrittenFile | None] = []
        try:
            for place, write in ((self.model, write_model), (self.report, write_report)):
                if place is None:
                    written.append(None)
                    continue
                with place.reserve(folder) as path:
                    written.append(WrittenFile(path, write(path)))
        finally:
            if folder is not None and not any(folder.iterdir()):
                folder.rmdir()
        return written[0], written[1]


def choose_places(table: str | None, config: str | None, options: OutputOptions) -> FitPlaces:
    """Choose the files of a fit, before the work that makes them.

    Parameters
    ----------
    table : str or None
        The table; None for the demonstration.
    config : str or None
        The file of options.
    options : OutputOptions
        What the user asked for.

    Returns
    -------
    FitPlaces
        Nothing is created yet.
    """
    _check_options(options)
    model = None if options.output is None else check_output_path(options.output, table, config)
    report = None if options.report is None else check_output_path(options.report, model, table, config)
    page = None if report is None else OutputPlace(report, _REPORT)
    if model is not None:
        if page is None and not options.no_report:
            page = _choose_page_beside(model, table, config)
        return FitPlaces(OutputPlace(model, _MODEL), page)
    if options.no_save:
        return FitPlaces(report=page)
    _check_current_folder()
    endings = (_MODEL,) if options.no_report or page is not None else (_MODEL, _REPORT)
    folder = None if table is not None else next(path for path in _list_numbered(_DEMO_FOLDER) if not _is_taken(path))
    if table is None:  # in a folder of their own
        paths = tuple(Path(f"{DEMONSTRATION}{ending}") for ending in endings)
    else:
        paths = _number_free(_cut_name(cut_format(Path(table).name or Path(table).resolve().name)), endings)
    own = [OutputPlace(path, ending, False) for path, ending in zip(paths, endings, strict=True)]
    return FitPlaces(own[0], own[1] if len(own) > 1 else page, folder)


def choose_page(model: str, table: str, output: str | None) -> OutputPlace:
    """Choose the file for a report on new data.

    Parameters
    ----------
    model, table : str
        The files that are read.
    output : str or None
        Value of ``--output``.

    Returns
    -------
    OutputPlace
        Nothing is created yet.
    """
    if output is not None:
        return OutputPlace(check_output_path(output, model, table), _REPORT)
    _check_current_folder()
    (path,) = _number_free(_cut_name(cut_format(Path(table).name or Path(table).resolve().name)), (_REPORT,))
    return OutputPlace(path, _REPORT, False)


def _choose_page_beside(model: Path, *inputs: str | None) -> OutputPlace:
    """The report of a model that the user named; if that replaces a model, the earlier report is replaced too."""
    page = model.with_suffix(_REPORT)
    replaces = model.exists() and page.is_file() and not is_same_file(page, model, *inputs)
    if not replaces:
        (page,) = _number_free(model.with_suffix(""), (_REPORT,))
    return OutputPlace(page, _REPORT, replaces)


def _check_current_folder() -> None:
    if not os.access(Path(), os.W_OK | os.X_OK):
        raise CommandError(
            f"Nothing can be written in the folder '{Path().absolute()}'.", "Name a file elsewhere with -o.", USAGE
        )


def _check_options(options: OutputOptions) -> None:
    if options.no_report and options.report is not None:
        raise CommandError("--report and --no-report contradict each other.", "Leave one of them out.", USAGE)
    if options.no_save and options.output is not None:
        raise CommandError("--output and --no-save contradict each other.", "Leave one of them out.", USAGE)


def _cut_name(name: str) -> Path:
    """A name so short that a number and an ending fit after it."""
    return Path(os.fsencode(name)[: LONGEST_NAME - 30].decode(errors="ignore"))


def _list_numbered(path: Path) -> Iterator[Path]:
    """A name, then the same with 2, 3 and so on."""
    yield path
    for k in itertools.count(2):
        yield path.with_name(f"{path.name}-{k}")


def _is_taken(path: Path) -> bool:
    """Whether there is anything of that name, also a link that leads nowhere."""
    return os.path.lexists(path)


def _number_free(stem: Path, endings: tuple[str, ...]) -> tuple[Path, ...]:
    """Paths with the same number, none of which exists."""
    ways = (tuple(one.with_name(one.name + ending) for ending in endings) for one in _list_numbered(stem))
    return next(paths for paths in ways if not any(map(_is_taken, paths)))


def _reserve_name(path: Path, ending: str) -> Path:
    stem = path.with_name(path.name.removesuffix(ending))
    while True:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            (path,) = _number_free(stem, (ending,))
        except OSError as error:
            raise make_write_error(path, error) from error
        else:
            return path


def _make_folder(folder: Path) -> Path:
    for path in _list_numbered(folder):
        try:
            path.mkdir()
        except FileExistsError:
            continue
        except OSError as error:
            raise make_write_error(path, error) from error
        return path
    raise AssertionError("the numbers have no end")
