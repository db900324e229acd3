// The picture of a round: surface, boundaries and points, or a curve with its residuals.
"use strict";

((Lab) => {
  const RADIUS = 4.4;
  const USUAL_WIDTH = 620;
  const WEIGHT_UNIT = 51;
  const HOLLOW = 2.6;

  /** A canvas as large as its box on the page, in pixels of the screen. */
  Lab.fitCanvas = (canvas) => {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, canvas.clientWidth);
    const height = Math.max(1, canvas.clientHeight);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    return { context, width, height };
  };

  Lab.Plot = class {
    constructor(canvas) {
      this.canvas = canvas;
      this.image = document.createElement("canvas");
      this.shows = { member: true, weights: true, test: false };
      this.crosshair = null;
      this.lines = new WeakMap();
    }

    setPalette(palette) {
      this.palette = palette;
      this.lookup = Lab.makeLookup(palette);
    }

    toScreen(x, y) {
      const [left, right, bottom, top] = this.box;
      return [((x - left) / (right - left)) * this.width, (1 - (y - bottom) / (top - bottom)) * this.height];
    }

    toData(px, py) {
      const [left, right, bottom, top] = this.box;
      return [left + (px / this.width) * (right - left), bottom + (1 - py / this.height) * (top - bottom)];
    }

    /** Draw a round; frame is its surface, if it is known. */
    draw(answer, number, frame) {
      const { context, width, height } = Lab.fitCanvas(this.canvas);
      Object.assign(this, { context, width, height, box: answer.box, answer });
      context.fillStyle = this.palette.paper;
      context.fillRect(0, 0, width, height);
      if (answer.task === "classification") {
        if (frame) this.drawSurface(frame);
        this.drawAxes();
        this.drawPlanePoints(number);
      } else {
        this.drawAxes();
        this.drawCurve(number);
      }
      if (this.crosshair) this.drawCrosshair();
    }

    drawSurface(frame) {
      const { size, codes } = frame;
      if (this.image.width !== size) Object.assign(this.image, { width: size, height: size });
      const flat = this.image.getContext("2d");
      const image = flat.createImageData(size, size);
      const pixels = new Uint32Array(image.data.buffer);
      for (let row = 0; row < size; row += 1) {
        const from = (size - 1 - row) * size;
        for (let column = 0; column < size; column += 1) pixels[row * size + column] = this.lookup[codes[from + column]];
      }
      flat.putImageData(image, 0, 0);
      this.context.imageSmoothingEnabled = true;
      this.context.imageSmoothingQuality = "high";
      this.context.drawImage(this.image, 0, 0, this.width, this.height);
      const lines = this.findLines(frame);
      if (this.shows.member) this.strokeLines(lines.member, size, 1.6, [6, 5], this.palette.accent);
      this.strokeLines(lines.surface, size, 2.2, [], this.palette.ink);
    }

    findLines(frame) {
      let lines = this.lines.get(frame);
      if (!lines) {
        const nClasses = this.answer.classes.length;
        lines = {
          surface: Lab.joinSegments(Lab.traceSurface(frame.codes, frame.size, nClasses)),
          member: Lab.joinSegments(Lab.traceMember(frame.member, frame.size, nClasses)),
        };
        this.lines.set(frame, lines);
      }
      return lines;
    }

    strokeLines(lines, size, width, dash, color) {
      const { context } = this;
      // Lines end at the centres of the outermost cells; from there they go on to the border.
      const share = (value) => (value <= 0 ? 0 : value >= size - 1 ? 1 : (value + 0.5) / size);
      const x = (value) => share(value) * this.width;
      const y = (value) => (1 - share(value)) * this.height;
      context.save();
      Object.assign(context, { strokeStyle: color, lineWidth: width, lineJoin: "round", lineCap: "round" });
      context.setLineDash(dash);
      context.beginPath();
      for (const line of lines) {
        context.moveTo(x(line[0]), y(line[1]));
        for (let k = 2; k < line.length; k += 2) context.lineTo(x(line[k]), y(line[k + 1]));
      }
      context.stroke();
      context.restore();
    }

    drawAxes() {
      const { context, box, palette } = this;
      context.save();
      Object.assign(context, { fillStyle: palette.ink, strokeStyle: palette.grid, lineWidth: 1, globalAlpha: 0.75 });
      context.font = "11px system-ui, sans-serif";
      const [left, right, bottom, top] = box;
      for (const tick of Lab.chooseTicks(left, right, 6)) {
        const [px] = this.toScreen(tick, bottom);
        if (px < 30 || px > this.width - 16) continue;
        context.beginPath();
        context.moveTo(px, this.height);
        context.lineTo(px, this.height - 5);
        context.stroke();
        context.textAlign = "center";
        context.fillText(Lab.formatNumber(tick), px, this.height - 8);
      }
      for (const tick of Lab.chooseTicks(bottom, top, 6)) {
        const [, py] = this.toScreen(left, tick);
        if (py < 16 || py > this.height - 30) continue;
        context.beginPath();
        context.moveTo(0, py);
        context.lineTo(5, py);
        context.stroke();
        context.textAlign = "left";
        context.fillText(Lab.formatNumber(tick), 8, py + 4);
      }
      context.restore();
    }

    radiusOf(number, i) {
      const unit = RADIUS * Math.max(0.65, Math.min(1.2, this.width / USUAL_WIDTH));
      if (!this.shows.weights || !this.answer.radii) return unit;
      return (unit * Lab.row(this.answer.radii, number - 1)[i]) / WEIGHT_UNIT;
    }

    drawPlanePoints(number) {
      const { answer, context, palette } = this;
      if (this.shows.test && answer.test) this.drawTestPoints();
      const { x, y, label } = answer.train;
      const margins = answer.margins ? Lab.row(answer.margins, number - 1) : null;
      const radii = Array.from(x, (_, i) => this.radiusOf(number, i));
      // Heavy points first, so that none hides another.
      const order = [...radii.keys()].sort((i, j) => radii[j] - radii[i]);
      for (const i of order) {
        const [px, py] = this.toScreen(x[i], y[i]);
        const color = palette.classes[label[i]];
        const isOut = radii[i] < 0.5;
        context.beginPath();
        Lab.traceMarker(context, label[i], px, py, isOut ? HOLLOW : Math.max(1.4, radii[i]));
        context.fillStyle = color;
        context.globalAlpha = isOut ? 0.25 : 0.92;
        context.fill();
        context.globalAlpha = 1;
        const isWrong = margins !== null && margins[i] < 127;
        context.strokeStyle = isWrong ? palette.ink : palette.paper;
        context.lineWidth = isWrong ? 1.8 : 0.9;
        context.stroke();
      }
    }

    drawTestPoints() {
      const { answer, context, palette } = this;
      const { x, y, label } = answer.test;
      context.save();
      context.lineWidth = 1.5;
      context.globalAlpha = 0.7;
      for (let i = 0; i < x.length; i += 1) {
        const [px, py] = this.toScreen(x[i], y[i]);
        context.strokeStyle = label ? palette.classes[label[i]] : palette.faint;
        context.beginPath();
        context.moveTo(px - 3, py - 3);
        context.lineTo(px + 3, py + 3);
        context.moveTo(px - 3, py + 3);
        context.lineTo(px + 3, py - 3);
        context.stroke();
      }
      context.restore();
    }

    drawCurve(number) {
      const { answer, context, palette } = this;
      const { x, y } = answer.train;
      if (this.shows.test && answer.test) this.drawTestPoints();
      if (answer.values) this.drawResiduals(Lab.row(answer.values, number - 1), number);
      for (let i = 0; i < x.length; i += 1) {
        const [px, py] = this.toScreen(x[i], y[i]);
        const radius = this.radiusOf(number, i);
        context.beginPath();
        Lab.traceMarker(context, 0, px, py, radius < 0.5 ? HOLLOW : Math.max(1.4, radius));
        Object.assign(context, { fillStyle: palette.classes[0], strokeStyle: palette.paper, lineWidth: 0.9 });
        context.globalAlpha = radius < 0.5 ? 0.25 : 0.85;
        context.fill();
        context.globalAlpha = 1;
        context.stroke();
      }
      if (!answer.curve) return;
      if (this.shows.member) this.strokeCurve(Lab.row(answer.curve.member, number - 1), 1.6, [6, 5], palette.accent);
      this.strokeCurve(Lab.row(answer.curve.after, number - 1), 2.6, [], palette.ink);
    }

    strokeCurve(values, width, dash, color) {
      const { context } = this;
      context.save();
      Object.assign(context, { strokeStyle: color, lineWidth: width, lineJoin: "round" });
      context.setLineDash(dash);
      context.beginPath();
      values.forEach((value, k) => {
        const [px, py] = this.toScreen(this.answer.curve.x[k], value);
        if (k) context.lineTo(px, py);
        else context.moveTo(px, py);
      });
      context.stroke();
      context.restore();
    }

    /** An arrow from the prediction of each training point to its value. */
    drawResiduals(values, number) {
      const { answer, context, palette } = this;
      const { x, y } = answer.train;
      context.save();
      context.lineWidth = 1.1;
      context.globalAlpha = 0.6;
      for (let i = 0; i < x.length; i += 1) {
        const [px, from] = this.toScreen(x[i], values[i]);
        const [, end] = this.toScreen(x[i], y[i]);
        // The head is at the rim of the point, not under it.
        const to = end - Math.sign(end - from) * Math.max(HOLLOW, this.radiusOf(number, i));
        const length = (to - from) * Math.sign(end - from);
        if (length < 2) continue;
        const head = Math.min(5, length / 2) * Math.sign(to - from);
        context.strokeStyle = y[i] > values[i] ? palette.right : palette.wrong;
        context.beginPath();
        context.moveTo(px, from);
        context.lineTo(px, to);
        context.moveTo(px - 2.5, to - head);
        context.lineTo(px, to);
        context.lineTo(px + 2.5, to - head);
        context.stroke();
      }
      context.restore();
    }

    drawCrosshair() {
      const { context, palette } = this;
      const [px, py] = this.toScreen(...this.crosshair);
      context.save();
      Object.assign(context, { strokeStyle: palette.ink, lineWidth: 1.5 });
      context.beginPath();
      context.moveTo(px - 10, py);
      context.lineTo(px + 10, py);
      context.moveTo(px, py - 10);
      context.lineTo(px, py + 10);
      context.stroke();
      context.restore();
    }
  };

  /** Join segments that share an end into long lines, so that dashes run on. */
  Lab.joinSegments = (segments) => {
    const ends = new Map();
    const key = (k) => `${segments[k].toFixed(4)},${segments[k + 1].toFixed(4)}`;
    const add = (name, k) => (ends.has(name) ? ends.get(name).push(k) : ends.set(name, [k]));
    for (let k = 0; k < segments.length; k += 4) {
      add(key(k), k);
      add(key(k + 2), k);
    }
    const used = new Uint8Array(segments.length / 4);
    const walk = (start, from) => {
      const line = [];
      let [at, end] = [start, from];
      while (at !== undefined) {
        used[at / 4] = 1;
        const next = end === at ? at + 2 : at;
        line.push(segments[next], segments[next + 1]);
        const name = key(next);
        at = ends.get(name).find((other) => !used[other / 4]);
        if (at !== undefined) end = key(at) === name ? at : at + 2;
      }
      return line;
    };
    const lines = [];
    for (let k = 0; k < segments.length; k += 4) {
      if (used[k / 4]) continue;
      const forward = walk(k, k);
      const start = ends.get(key(k)).find((other) => !used[other / 4]);
      const backward = start === undefined ? [] : walk(start, key(start) === key(k) ? start : start + 2);
      const reversed = [];
      for (let at = backward.length - 2; at >= 0; at -= 2) reversed.push(backward[at], backward[at + 1]);
      lines.push([...reversed, segments[k], segments[k + 1], ...forward]);
    }
    return lines;
  };
})((window.Lab ??= {}));
