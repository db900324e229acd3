// Boundaries between classes on a grid, by marching squares.
"use strict";

((Lab) => {
  // Sides of a cell that a line joins, by which of its corners are inside: 1 bottom left, 2 bottom right, 4 top right,
  // 8 top left. Sides: 0 bottom, 1 right, 2 top, 3 left.
  const JOINS = [[], [3, 0], [0, 1], [3, 1], [1, 2], [3, 2, 0, 1], [0, 2], [3, 2], [2, 3], [2, 0], [0, 3, 2, 1], [2, 1], [1, 3], [1, 0], [0, 3], []];

  /**
   * Line segments where a field changes its sign: x0, y0, x1, y1 of each in units of cells, from the centre of the
   * first cell. field(i) is the value at cell i, rows from the bottom.
   */
  Lab.traceZero = (field, size) => {
    const segments = [];
    for (let row = 0; row + 1 < size; row += 1) {
      for (let column = 0; column + 1 < size; column += 1) {
        const at = row * size + column;
        const a = field(at);
        const b = field(at + 1);
        const c = field(at + size + 1);
        const d = field(at + size);
        const kind = (a > 0 ? 1 : 0) | (b > 0 ? 2 : 0) | (c > 0 ? 4 : 0) | (d > 0 ? 8 : 0);
        const sides = JOINS[kind];
        for (let k = 0; k < sides.length; k += 1) {
          const side = sides[k];
          if (side === 0) segments.push(column + a / (a - b), row);
          else if (side === 1) segments.push(column + 1, row + b / (b - c));
          else if (side === 2) segments.push(column + d / (d - c), row + 1);
          else segments.push(column, row + a / (a - d));
        }
      }
    }
    return segments;
  };

  /** Boundaries of a surface of codes, class times 32 plus confidence; one list of segments. */
  Lab.traceSurface = (codes, size, nClasses) => {
    const classes = nClasses === 2 ? [1] : [...Array(nClasses).keys()];
    const signed = (k) => (at) => ((codes[at] >> 5) === k ? 1 : -1) * ((codes[at] & 31) + 0.5);
    return classes.flatMap((k) => Lab.traceZero(signed(k), size));
  };

  /** Boundaries of a member, which has classes only. */
  Lab.traceMember = (member, size, nClasses) => {
    const classes = nClasses === 2 ? [1] : [...Array(nClasses).keys()];
    return classes.flatMap((k) => Lab.traceZero((at) => (member[at] === k ? 1 : -1), size));
  };
})((window.Lab ??= {}));
