"""Dates, times of day and durations are the same numbers, whatever library and unit they come in."""

import datetime
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from committee.base import CommitteeEstimator
from committee.data import Schema, take_in, take_in_rows
from committee.data.dates import PARTS, compute_part
from committee.exceptions import DataError, DataTypeError, ParameterError

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

NAN = float("nan")
UTC = datetime.UTC
LEAP = datetime.datetime(2020, 2, 29, 23, 59, 59, 999_999)
EARLY = datetime.datetime(1969, 12, 31, 23, 59, 59, 1)
LATE = datetime.datetime(2200, 3, 1)
# The nanoseconds of pandas and the microseconds of the others both reach this far.
dates = st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2260, 1, 1))

# Each example is read from a dozen tables, the first one with the libraries' own setup.
few = settings(deadline=None, max_examples=30)


class Tree(CommitteeEstimator):
    pass


def learn(X: Any, **options: Any) -> Schema:
    return take_in(Tree(), X, task="none", **options).schema


def read(X: Any) -> np.ndarray:
    return np.asarray(take_in(Tree(), X, task="none").X)


def write_dates(when: list[Any]) -> dict[str, Any]:
    """A column of dates as every library writes it."""
    stamps = pd.Series(pd.array(when, dtype="datetime64[us]"))
    return {
        "pandas us": pd.DataFrame({"when": stamps}),
        "pandas ns": pd.DataFrame({"when": stamps.astype("datetime64[ns]")}),
        "pandas objects": pd.DataFrame({"when": pd.Series(when, dtype=object)}),
        "pandas arrow": pd.DataFrame({"when": stamps.astype(pd.ArrowDtype(pa.timestamp("us")))}),
        "polars": pl.DataFrame({"when": pl.Series(when, dtype=pl.Datetime("us"))}),
        "polars ns": pl.DataFrame({"when": pl.Series(when, dtype=pl.Datetime("us")).cast(pl.Datetime("ns"))}),
        "polars lazy": pl.LazyFrame({"when": pl.Series(when, dtype=pl.Datetime("us"))}),
        "arrow": pa.table({"when": pa.array(when, pa.timestamp("us"))}),
        "arrow ns": pa.table({"when": pa.array(when, pa.timestamp("us")).cast(pa.timestamp("ns"))}),
        "numpy": stamps.to_numpy()[:, None],
        "numpy ns": stamps.to_numpy().astype("M8[ns]")[:, None],
        "lists": [[one] for one in when],
    }


@few
@given(st.lists(dates | st.none(), min_size=1, max_size=6).filter(any))
@example([LEAP, None, EARLY, LATE])
def test_dates_of_every_library_are_the_same_bytes(when: list[Any]) -> None:
    tables = write_dates(when)
    expected = read(tables.pop("pandas us")).tobytes()
    for name, table in tables.items():
        assert read(table).tobytes() == expected, name


@few
@given(st.lists(dates, min_size=1, max_size=6))
@example([LEAP, EARLY, LATE])
def test_parts_are_those_of_the_calendar(when: list[Any]) -> None:
    seconds = read(np.array(when, "M8[us]")[:, None])[:, 0]
    stamps = pd.Series(when)
    expected = {
        "year": stamps.dt.year,
        "month": stamps.dt.month,
        "weekday": stamps.dt.day_of_week,
        "hour": stamps.dt.hour,
    }
    for part in PARTS:
        np.testing.assert_array_equal(compute_part(seconds, part), expected[part])
    epoch = datetime.datetime(1970, 1, 1)
    np.testing.assert_allclose(seconds, [(one - epoch).total_seconds() for one in when], rtol=0, atol=1e-6)


def test_a_nanosecond_before_midnight_is_of_the_old_day() -> None:
    last = np.array(["2019-12-31T23:59:59.999999999", "2020-06-15T12"], "M8[ns]")[:, None]
    frame = pd.DataFrame({"when": last[:, 0]})
    assert read(last)[0, 1:].tolist() == [2019, 12, 1, 23]
    assert read(frame).tobytes() == read(pa.table({"when": pa.array(last[:, 0])})).tobytes() == read(last).tobytes()
    assert read([[pd.Timestamp(last[0, 0])], [pd.Timestamp(last[1, 0])]]).tobytes() == read(last).tobytes()


def write_zoned(when: list[Any], zone: str) -> dict[str, Any]:
    stamps = pd.Series(pd.array(when, dtype="datetime64[us]")).dt.tz_localize("UTC").dt.tz_convert(zone)
    series = pl.Series(when, dtype=pl.Datetime("us")).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return {
        "pandas": pd.DataFrame({"when": stamps}),
        "pandas arrow": pd.DataFrame({"when": stamps.astype(pd.ArrowDtype(pa.timestamp("us", zone)))}),
        "pandas objects": pd.DataFrame({"when": stamps.astype(object)}),
        "polars": pl.DataFrame({"when": series}),
        "arrow": pa.table({"when": pa.array(when, pa.timestamp("us", zone))}),
    }


@few
@given(st.lists(dates | st.none(), min_size=1, max_size=5).filter(any))
@example([LEAP, None, EARLY])
def test_time_zones_count_in_utc(when: list[Any]) -> None:
    expected = read(pa.table({"when": pa.array(when, pa.timestamp("us"))})).tobytes()
    for zone in ("UTC", "Europe/Berlin", "America/St_Johns"):
        for name, table in write_zoned(when, zone).items():
            assert read(table).tobytes() == expected, (name, zone)


def test_a_time_zone_is_learnt() -> None:
    naive, zoned = write_dates([LEAP, EARLY]), write_zoned([LEAP, EARLY], "Asia/Tokyo")
    with pytest.raises(DataTypeError, match="'when' held dates without a time zone at fit and holds dates with a time"):
        take_in_rows(Tree(), zoned["polars"], learn(naive["pandas us"]))
    with pytest.raises(DataTypeError, match="'when' held dates with a time zone at fit and holds dates without a time"):
        take_in_rows(Tree(), naive["arrow"], learn(zoned["pandas"]))
    other = take_in_rows(Tree(), write_zoned([LEAP], "UTC")["arrow"], learn(zoned["pandas"]))
    np.testing.assert_array_equal(other, read(zoned["pandas"])[:1])


def test_days_are_dates_at_midnight() -> None:
    days = [LEAP.date(), None, EARLY.date()]
    expected = read(pd.DataFrame({"when": pd.to_datetime(pd.Series(days))}))
    assert expected[:, 0].tolist()[::2] == [1_582_934_400.0, -86_400.0]
    for table in (
        pd.DataFrame({"when": pd.Series(days, dtype=object)}),
        pd.DataFrame({"when": pd.Series(days, dtype=pd.ArrowDtype(pa.date32()))}),
        pd.DataFrame({"when": pd.Series(pd.PeriodIndex(days, freq="D"))}),
        pd.DataFrame({"when": pd.Series(pd.PeriodIndex(days, freq="D")).astype(object)}),
        pl.DataFrame({"when": days}),
        pa.table({"when": days}),
        pa.table({"when": pa.array(days).cast(pa.date64())}),
        np.array(days, "M8[D]")[:, None],
        np.array(days, "M8[D]").astype(object)[:, None],
    ):
        assert read(table).tobytes() == expected.tobytes()
    months = np.array(["2020-02", "NaT"], "M8[M]")[:, None]
    np.testing.assert_array_equal(read(months), [[1_580_515_200.0], [NAN]])
    fortnights = np.array([[1]], "M8[2W]")
    assert read(fortnights).item() == 14 * 86_400


@few
@given(st.lists(st.timedeltas(datetime.timedelta(-9000), datetime.timedelta(9000)) | st.none(), max_size=5).filter(any))
@example([datetime.timedelta(microseconds=-1), None])
def test_durations_of_every_library_are_the_same_bytes(spans: list[Any]) -> None:
    series = pd.Series(pd.array(spans, dtype="timedelta64[us]"))
    expected = read(pd.DataFrame({"d": series}))
    np.testing.assert_allclose(expected[:, 0], [NAN if one is None else one.total_seconds() for one in spans])
    for table in (
        pd.DataFrame({"d": series.astype("timedelta64[ns]")}),
        pd.DataFrame({"d": series.astype(object)}),
        pd.DataFrame({"d": series.astype(pd.ArrowDtype(pa.duration("us")))}),
        pl.DataFrame({"d": pl.Series(spans, dtype=pl.Duration("us"))}),
        pa.table({"d": pa.array(spans, pa.duration("us"))}),
        series.to_numpy()[:, None],
        [[one] for one in spans],
    ):
        assert read(table).tobytes() == expected.tobytes()


@few
@given(st.lists(st.times() | st.none(), min_size=1, max_size=5).filter(lambda times: any(t is not None for t in times)))
def test_times_of_day_of_every_library_are_the_same_bytes(times: list[Any]) -> None:
    expected = read(pl.DataFrame({"t": pl.Series(times, dtype=pl.Time)}))
    for table in (
        pd.DataFrame({"t": pd.Series(times, dtype=object)}),
        pd.DataFrame({"t": pd.Series(times, dtype=pd.ArrowDtype(pa.time64("us")))}),
        pa.table({"t": pa.array(times, pa.time64("us"))}),
        pa.table({"t": pa.array(times, pa.time64("us")).cast(pa.time64("ns"))}),
        [[one] for one in times],
    ):
        assert read(table).tobytes() == expected.tobytes()
    seconds = pa.table({"t": pa.array([datetime.time(1, 2, 3)], pa.time32("s"))})
    assert read(seconds).item() == 3723.0


# --- the schema --------------------------------------------------------------------------------------------------


def test_only_parts_that_vary_become_features() -> None:
    hours = pd.DataFrame({"when": pd.to_datetime(["2020-03-02T01:00", "2020-03-02T05:30", None])})
    schema = learn(hours)
    assert schema.feature_names == ("when (seconds)", "when (hour)")
    assert (schema.n_features, schema.n_inputs, schema.input_names) == (2, 1, ("when",))
    assert schema.inputs is not None
    assert (schema.inputs.kinds, schema.inputs.parts) == (("date",), (("seconds", "hour"),))
    # At prediction the same parts, whatever varies there.
    rows = take_in_rows(Tree(), pl.DataFrame({"when": [LEAP, EARLY]}), schema)
    assert rows[:, 1].tolist() == [23.0, 23.0]
    assert learn(hours.head(1)).feature_names == ("when (seconds)",)


def test_a_row_of_weight_zero_does_not_make_a_part() -> None:
    when = np.array(["2020-03-02", "2020-03-09", "2021-05-04"], "M8[s]")[:, None]
    weighted = take_in(Tree(), when, [0, 1, 1], [1.0, 2.0, 0.0], task="classify")
    assert weighted.schema == take_in(Tree(), when[:2], [0, 1], task="classify").schema


def test_names_of_features_and_of_columns() -> None:
    table = pd.DataFrame({"size": [1.0, 2.0], "when": [LEAP, EARLY], "colour": pd.Categorical(["red", "blue"])})
    schema = learn(table)
    names = ["size", "when (seconds)", "when (year)", "when (month)", "when (weekday)", "colour"]
    assert schema.name_features("x{}") == names
    assert schema.name_inputs("x{}") == ["size", "when", "colour"]
    assert schema.name_column(3) == schema.name_input(1) == "column 'when'"
    assert schema.are_categories.tolist() == [False, False, True]
    assert schema.n_levels.tolist() == [0, 0, 0, 0, 0, 2]
    nameless = learn(np.array([[LEAP, EARLY], [EARLY, LEAP]], "M8[us]"))
    assert nameless.feature_names is None
    assert nameless.name_features("x{}")[4:6] == ["x1 (seconds)", "x1 (year)"]


@pytest.mark.parametrize(
    ("now", "sentence"),
    [
        ([3.0], "X column 'when' held dates without a time zone at fit and holds numbers now."),
        (["2020-01-01"], "X column 'when' held dates without a time zone at fit and holds text now."),
        ([datetime.timedelta(1)], "X column 'when' held dates without a time zone at fit and holds durations now."),
        ([[1.0, 2.0]], "X column 'when' held dates without a time zone at fit and holds lists of 2 values now."),
    ],
)
def test_another_kind_than_dates(now: Any, sentence: str) -> None:
    schema = learn(pd.DataFrame({"when": [LEAP, EARLY]}))
    with pytest.raises(DataTypeError, match=f"^{re.escape(sentence)}"):
        take_in_rows(Tree(), pd.DataFrame({"when": now}), schema)


def test_dates_in_place_of_something_else() -> None:
    dates = pd.DataFrame({"x": [LEAP]})
    for learnt, then in (([1.0], "numbers"), (["a"], "categories"), ([datetime.timedelta(1)], "durations")):
        with pytest.raises(
            DataTypeError, match=f"^X column 'x' held {then} at fit and holds dates without a time zone"
        ):
            take_in_rows(Tree(), dates, learn(pd.DataFrame({"x": learnt})))
    with pytest.raises(DataTypeError, match=r"^X column 0 held dates without a time zone at fit and holds numbers now"):
        take_in_rows(Tree(), np.ones((1, 1)), learn(dates.to_numpy()))


def test_a_missing_column_may_have_any_type() -> None:
    schema = learn(pd.DataFrame({"when": [LEAP, EARLY], "size": [1.0, 2.0]}))
    for when in (pd.Series([NAN]), pd.Series([None], dtype=object), pd.Series([pd.NaT])):
        rows = take_in_rows(Tree(), pd.DataFrame({"when": when, "size": [1.0]}), schema)
        np.testing.assert_array_equal(rows, [[NAN] * 4 + [1.0]])
    rows = take_in_rows(Tree(), pd.DataFrame({"when": [LEAP], "size": pd.Series([pd.NaT])}), schema)
    assert np.isnan(rows[0, -1])


def test_a_date_is_no_category() -> None:
    with pytest.raises(ParameterError, match="X column 'when' holds dates without a time zone, which cannot be a cat"):
        learn(pd.DataFrame({"when": [LEAP, EARLY]}), categorical_features=["when"])


def test_sparse_rows_for_a_model_of_dates() -> None:
    sp = pytest.importorskip("scipy.sparse")
    with pytest.raises(DataTypeError, match=r"^Sparse X holds numbers only, but Tree was fitted on dates"):
        take_in_rows(Tree(), sp.csr_array(np.eye(1)), learn(np.array([[LEAP]], "M8[us]")))


def test_infinite_numbers_beside_dates_name_the_column() -> None:
    table = pd.DataFrame({"when": [LEAP, EARLY], "size": [1.0, np.inf]})
    with pytest.raises(DataError, match="in column 'size', row 1"):
        learn(table)


# --- lazy frames -------------------------------------------------------------------------------------------------


def test_a_lazy_frame_is_read_with_the_needed_columns_only() -> None:
    lazy = pl.LazyFrame({"size": [1.0, 2.0], "when": [LEAP, EARLY]})
    schema = learn(lazy)
    asked: list[str] = []

    def note(series: Any) -> Any:
        asked.append(series.name)
        return series

    more = lazy.with_columns(pl.col("size").map_batches(note, return_dtype=pl.Float64).alias("other")).select(
        "other", "when", "size"
    )
    np.testing.assert_array_equal(take_in_rows(Tree(), more, schema), read(lazy))
    assert asked == []
    with pytest.raises(DataError, match="Feature names seen at fit time, yet now missing:\n- when"):
        take_in_rows(Tree(), lazy.select("size"), schema)
