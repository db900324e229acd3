"""What the engine reads, in a form that travels: bins as bytes, parameters by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from committee import _core
from committee.data.binning import take_bytes

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = ["PackedBins", "pack_bins", "pack_params", "unpack_bins", "unpack_params"]


class PackedBins(NamedTuple):
    """A binned table: its mapper, a byte a value by column, and the codes of its wide columns."""

    mapper: _core.BinMapper
    columns: AnyArray
    codes: AnyArray

    @property
    def nbytes(self) -> int:
        """Bytes that travel."""
        return int(self.columns.nbytes + self.codes.nbytes)


def pack_bins(bins: _core.BinnedMatrix) -> PackedBins:
    """A binned table as arrays."""
    return PackedBins(bins.mapper, *take_bytes(bins))


def unpack_bins(packed: PackedBins) -> _core.BinnedMatrix:
    """The binned table again."""
    builder = _core.BinnedBuilder(packed.mapper, packed.columns.shape[1])
    builder.write_bins(packed.columns, 0, packed.codes)
    return builder.finish()


def pack_params(params: object, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The parameters of an engine's object by name.

    Examples
    --------
    >>> pack_params(_core.ForestPlan(), ("sampling",))["first_tree"]
    0
    """
    fields = vars(type(params)).items()
    names = [name for name, kind in fields if isinstance(kind, property) and kind.fset is not None]
    return {name: getattr(params, name) for name in names if name not in leave_out}


def unpack_params(params: Any, packed: dict[str, Any]) -> Any:
    """Set parameters by name, and return the object."""
    for name, value in packed.items():
        setattr(params, name, value)
    return params
