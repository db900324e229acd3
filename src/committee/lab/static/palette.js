// Colours of classes and of the page's theme.
"use strict";

((Lab) => {
  // Distinct for the colour-blind as well; classes also differ by the shape of their points.
  const LIGHT = ["#2563c9", "#e0701a", "#12876b", "#a03a8f", "#8a6d00", "#d1344b", "#4b5b6b", "#0f9bb8"];
  const DARK = ["#6ea8ff", "#ff9d4d", "#3fcf9f", "#dd7fcb", "#d9b93b", "#ff7384", "#a9b6c4", "#4fd0e6"];
  const CONFIDENCES = 32;

  const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));

  /** Colours of the theme that the page has now. */
  Lab.readPalette = () => {
    const style = getComputedStyle(document.documentElement);
    const get = (name) => style.getPropertyValue(name).trim();
    const isDark = get("--scheme") === "dark";
    return {
      isDark,
      classes: isDark ? DARK : LIGHT,
      paper: get("--paper"),
      ink: get("--ink"),
      faint: get("--faint"),
      grid: get("--grid"),
      accent: get("--accent"),
      wrong: get("--wrong"),
      right: get("--right"),
    };
  };

  /** One packed pixel for each code of a surface: class times 32 plus confidence. */
  Lab.makeLookup = (palette) => {
    const paper = parse(palette.paper);
    const pixels = new Uint32Array(256);
    for (let code = 0; code < 256; code += 1) {
      const color = parse(palette.classes[code >> 5]);
      const share = (code & (CONFIDENCES - 1)) / (CONFIDENCES - 1);
      const strength = palette.isDark ? 0.1 + 0.42 * share : 0.08 + 0.5 * share;
      const [r, g, b] = color.map((one, at) => Math.round(paper[at] + (one - paper[at]) * strength));
      pixels[code] = (255 << 24) | (b << 16) | (g << 8) | r;
    }
    return pixels;
  };

  /** Add the shape of a class's points to the path: circle, square, triangle, diamond, and again. */
  Lab.traceMarker = (context, shape, x, y, radius) => {
    const r = radius;
    if (shape % 4 === 0) {
      context.moveTo(x + r, y);
      context.arc(x, y, r, 0, 2 * Math.PI);
    } else if (shape % 4 === 1) {
      context.rect(x - 0.88 * r, y - 0.88 * r, 1.76 * r, 1.76 * r);
    } else if (shape % 4 === 2) {
      context.moveTo(x, y - 1.2 * r);
      context.lineTo(x + 1.1 * r, y + 0.8 * r);
      context.lineTo(x - 1.1 * r, y + 0.8 * r);
      context.closePath();
    } else {
      context.moveTo(x, y - 1.25 * r);
      context.lineTo(x + 1.25 * r, y);
      context.lineTo(x, y + 1.25 * r);
      context.lineTo(x - 1.25 * r, y);
      context.closePath();
    }
  };
})((window.Lab ??= {}));
