// The curves beside the picture: errors, losses, margins, bias and variance.
"use strict";

((Lab) => {
  const LEFT = 40;
  const RIGHT = 10;
  const TOP = 8;
  const BOTTOM = 22;
  // Pixels between the labels of two ticks.
  const MIN_GAP = 26;
  const STYLES = {
    training: { color: 0, dash: [] },
    test: { color: 1, dash: [] },
    "out-of-bag": { color: 2, dash: [5, 3] },
    "training error": { color: 0, dash: [] },
    "exponential loss": { color: 2, dash: [] },
    "bound of the training error": { color: 3, dash: [6, 4] },
    "log loss, training": { color: 0, dash: [] },
    "log loss, test": { color: 1, dash: [] },
    "log loss, out-of-bag": { color: 2, dash: [5, 3] },
    bias: { color: 0, dash: [] },
    variance: { color: 1, dash: [] },
    error: { color: 6, dash: [5, 3] },
  };
  const LABELS = { bias: "bias²", "bound of the training error": "bound of the training error" };
  const N_BARS = 40;

  Lab.styleOf = (name) => STYLES[name] ?? { color: 4, dash: [] };

  class Chart {
    constructor(figure) {
      this.figure = figure;
      this.canvas = figure.querySelector("canvas");
      this.legend = figure.querySelector("ul");
    }

    setPalette(palette) {
      this.palette = palette;
    }

    open(xEnds, yEnds) {
      Object.assign(this, Lab.fitCanvas(this.canvas), { xEnds, yEnds });
    }

    x(value) {
      const [low, high] = this.xEnds;
      const share = this.isLog ? Math.log(value / low) / Math.log(high / low || 2) : (value - low) / (high - low || 1);
      return LEFT + share * (this.width - LEFT - RIGHT);
    }

    y(value) {
      const [low, high] = this.yEnds;
      return this.height - BOTTOM - ((value - low) / (high - low || 1)) * (this.height - TOP - BOTTOM);
    }

    drawAxes(xTicks, isShare) {
      const { context, palette } = this;
      context.font = "11px system-ui, sans-serif";
      Object.assign(context, { fillStyle: palette.faint, strokeStyle: palette.grid, lineWidth: 1 });
      context.textAlign = "right";
      for (const tick of Lab.chooseTicks(...this.yEnds, 4)) {
        const py = Math.round(this.y(tick)) + 0.5;
        context.beginPath();
        context.moveTo(LEFT, py);
        context.lineTo(this.width - RIGHT, py);
        context.stroke();
        context.fillText(isShare ? `${Lab.formatNumber(100 * tick)} %` : Lab.formatNumber(tick), LEFT - 5, py + 4);
      }
      context.textAlign = "center";
      let free = this.width;
      for (const tick of [...xTicks].reverse()) {
        const px = this.x(tick);
        if (px > free) continue;
        context.fillText(Lab.formatNumber(tick), px, this.height - 6);
        free = px - MIN_GAP;
      }
    }

    drawLine(xs, ys, name, width = 2) {
      const { context, palette } = this;
      const style = Lab.styleOf(name);
      context.save();
      Object.assign(context, { strokeStyle: palette.classes[style.color], lineWidth: width, lineJoin: "round" });
      context.setLineDash(style.dash);
      context.beginPath();
      context.rect(LEFT, TOP - 2, this.width - LEFT - RIGHT + 2, this.height - TOP - BOTTOM + 4);
      context.clip();
      context.beginPath();
      let isOpen = false;
      for (let k = 0; k < ys.length; k += 1) {
        if (!Number.isFinite(ys[k])) continue;
        if (isOpen) context.lineTo(this.x(xs(k)), this.y(ys[k]));
        else context.moveTo(this.x(xs(k)), this.y(ys[k]));
        isOpen = true;
      }
      context.stroke();
      context.restore();
    }

    drawCursor(value) {
      const { context, palette } = this;
      const px = Math.round(this.x(value)) + 0.5;
      Object.assign(context, { strokeStyle: palette.ink, lineWidth: 1 });
      context.beginPath();
      context.moveTo(px, TOP);
      context.lineTo(px, this.height - BOTTOM);
      context.stroke();
    }

    drawDot(px, py, name) {
      const { context, palette } = this;
      context.beginPath();
      context.arc(px, py, 3.6, 0, 2 * Math.PI);
      Object.assign(context, { fillStyle: palette.classes[Lab.styleOf(name).color], strokeStyle: palette.paper });
      context.lineWidth = 1.2;
      context.fill();
      context.stroke();
    }

    /** Names, their values now, and the same as a text for the canvas. */
    setLegend(entries, summary) {
      this.canvas.setAttribute("aria-label", summary);
      while (this.legend.children.length > entries.length) this.legend.lastChild.remove();
      entries.forEach(([name, value], at) => {
        const item = this.legend.children[at] ?? this.legend.appendChild(document.createElement("li"));
        const style = Lab.styleOf(name);
        item.className = `key-${style.color}${style.dash.length ? " dashed" : ""}`;
        const text = value === "" ? LABELS[name] ?? name : `${LABELS[name] ?? name} ${value}`;
        if (item.textContent !== text) item.textContent = text;
      });
    }
  }

  /** Curves over the rounds; a click goes to a round. */
  Lab.RoundsChart = class extends Chart {
    constructor(figure, onPick) {
      super(figure);
      const pick = (event) => {
        const share = (event.offsetX - LEFT) / (this.canvas.clientWidth - LEFT - RIGHT);
        const last = this.xEnds ? this.xEnds[1] : 1;
        onPick(Math.max(1, Math.min(last, Math.round(1 + share * (last - 1)))));
      };
      this.canvas.addEventListener("pointerdown", pick);
      this.canvas.addEventListener("pointermove", (event) => event.buttons === 1 && pick(event));
    }

    draw(curves, number, isShare, title) {
      const names = Object.keys(curves);
      this.figure.hidden = names.length === 0;
      if (!names.length) return;
      const n = curves[names[0]].length;
      const highest = Math.max(...names.map((name) => this.findTop(curves[name])));
      this.open([1, Math.max(2, n)], [0, highest > 0 ? highest * 1.06 : 1]);
      this.drawAxes(Lab.chooseTicks(1, Math.max(2, n), 5).filter((tick) => Number.isInteger(tick) && tick >= 1), isShare);
      for (const name of names) this.drawLine((k) => k + 1, curves[name], name);
      this.drawCursor(number);
      const format = (value) => (isShare ? Lab.formatError(value, true) : value.toPrecision(3));
      for (const name of names) {
        const value = curves[name][number - 1];
        if (Number.isFinite(value)) this.drawDot(this.x(number), this.y(Math.min(value, this.yEnds[1])), name);
      }
      const entries = names.map((name) => [name, format(curves[name][number - 1])]);
      this.setLegend(entries, `${title} after round ${number}: ${entries.map((entry) => entry.join(" ")).join(", ")}`);
    }

    /** The largest value, unless the first rounds are far above the others. */
    findTop(curve) {
      const known = Array.from(curve).filter(Number.isFinite);
      if (!known.length) return 0;
      const sorted = [...known].sort((a, b) => a - b);
      const most = sorted[sorted.length - 1];
      return Math.min(most, 4 * sorted[Math.floor(sorted.length * 0.9)] || most);
    }
  };

  /** How the margins of the training points are spread. */
  Lab.MarginsChart = class extends Chart {
    draw(margins) {
      this.figure.hidden = !margins;
      if (!margins) return;
      const counts = new Array(N_BARS).fill(0);
      for (const code of margins) counts[Math.min(N_BARS - 1, Math.floor((code / 255.001) * N_BARS))] += 1;
      const n = margins.length;
      this.open([-1, 1], [0, 1]);
      this.drawAxes([-1, -0.5, 0, 0.5, 1], true);
      const { context, palette } = this;
      const most = Math.max(...counts);
      const width = (this.x(1) - this.x(-1)) / N_BARS;
      counts.forEach((count, k) => {
        const height = (count / most) * (this.y(0) - this.y(1));
        context.fillStyle = k < N_BARS / 2 ? palette.wrong : palette.right;
        context.globalAlpha = 0.55;
        context.fillRect(this.x(-1) + k * width + 0.5, this.y(0) - height, width - 1, height);
      });
      context.globalAlpha = 1;
      const sorted = Uint8Array.from(margins).sort();
      Object.assign(context, { strokeStyle: palette.ink, lineWidth: 1.8 });
      context.beginPath();
      context.moveTo(this.x(-1), this.y(0));
      sorted.forEach((code, k) => {
        const px = this.x(code / 127.5 - 1);
        context.lineTo(px, this.y(k / n));
        context.lineTo(px, this.y((k + 1) / n));
      });
      context.lineTo(this.x(1), this.y(1));
      context.stroke();
      this.drawCursor(0);
      const wrong = sorted.filter((code) => code < 127).length / n;
      const least = sorted[0] / 127.5 - 1;
      const middle = sorted[Math.floor(n / 2)] / 127.5 - 1;
      const text = `smallest ${least.toFixed(2)}, median ${middle.toFixed(2)}, negative ${Lab.formatError(wrong, true)}`;
      this.setLegend([], `Margins of the training points: ${text}`);
      this.figure.querySelector(".note").textContent = text;
    }
  };

  /** Bias and variance by the size of the ensemble. */
  Lab.BiasChart = class extends Chart {
    draw(estimates, isShare) {
      this.isLog = true;
      const note = this.figure.querySelector(".note");
      const known = [...estimates].sort((a, b) => a.members - b.members);
      const names = ["error", "bias", "variance"];
      const top = Math.max(1e-9, ...known.map((one) => one.error));
      const last = known.length ? known[known.length - 1].members : 2;
      this.open([1, Math.max(2, last)], [0, top * 1.1]);
      if (known.length) this.drawAxes(known.map((one) => one.members), isShare);  // no scale before there is something to measure
      for (const name of names) {
        this.drawLine((k) => known[k].members, known.map((one) => one[name]), name);
        for (const one of known) this.drawDot(this.x(one.members), this.y(one[name]), name);
      }
      const newest = known[known.length - 1];
      const entries = names.map((name) => [name, newest ? Lab.formatError(newest[name], isShare) : ""]);
      const where = newest ? `with ${newest.members} member${newest.members === 1 ? "" : "s"}` : "not yet estimated";
      this.setLegend(entries, `Bias and variance ${where}: ${entries.map((entry) => entry.join(" ")).join(", ")}`);
      note.textContent = newest ? `${where}, over 16 bootstrap samples` : "";
    }
  };
})((window.Lab ??= {}));
