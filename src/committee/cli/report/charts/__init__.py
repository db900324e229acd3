"""Charts as inline SVG; colours come from the style sheet of the page, which has light, dark and print modes.

SVG rather than a JavaScript library: it prints as vectors, needs no script to be seen, follows the page's colours, and
its text can be searched and read aloud. A script of the page adds interactive tooltips.
"""

from committee.cli.report.charts.axis import Axis, fit_axis
from committee.cli.report.charts.bars import draw_bars, draw_dots
from committee.cli.report.charts.chart import Chart
from committee.cli.report.charts.histograms import draw_histogram, draw_paired_histogram, draw_spark, draw_spark_pair
from committee.cli.report.charts.matrix import draw_matrix, draw_surface
from committee.cli.report.charts.svg import N_COLORS

__all__ = [
    "N_COLORS",
    "Axis",
    "Chart",
    "draw_bars",
    "draw_dots",
    "draw_histogram",
    "draw_matrix",
    "draw_paired_histogram",
    "draw_spark",
    "draw_spark_pair",
    "draw_surface",
    "fit_axis",
]
