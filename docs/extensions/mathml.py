"""Formulas as MathML, which browsers draw themselves: no script, no font and no request to another host."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from latex2mathml.converter import convert

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def render_formula(latex: str, *, block: bool) -> str:
    """MathML of a formula; its source is kept as an annotation, which can be copied."""
    source = latex.strip()
    source = re.sub(r"\{aligned\}", "{align*}", source)
    if block and r"\begin{" not in source and (r"\\" in source or re.search(r"(?<!\\)&", source)):
        source = rf"\begin{{align*}}{source}\end{{align*}}"
    made = convert(source, display="block" if block else "inline").replace("<mi>&</mi>", "<mi>&amp;</mi>")
    # The names of functions stand off from an argument without brackets.
    made = re.sub(r"(<m[io]>(?:log|exp|min|max|sin|cos)</m[io]>)(?=<m[in]>)", r'\1<mspace width="0.167em" />', made)
    label = html.escape(" ".join(latex.split()), quote=True)
    return made.replace("<math ", f'<math alttext="{label}" ', 1)


def _visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(render_formula(node.astext(), block=False))
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="math-block">{render_formula(node.astext(), block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", inline_renderers=(_visit_inline, None), block_renderers=(_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
