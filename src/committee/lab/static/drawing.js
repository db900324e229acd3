// Drawing points on the picture, with the mouse, a finger or the keyboard.
"use strict";

((Lab) => {
  const SPACING = 9;
  const REACH = 12;
  const STEPS = 40;

  Lab.Drawing = class {
    /** onChange(isDone) is called when the points have changed; isDone at the end of a stroke. */
    constructor(plot, tools, onChange) {
      Object.assign(this, { plot, tools, onChange, points: [], isOn: false, brush: 0, most: 1000 });
      const { canvas } = plot;
      canvas.addEventListener("pointerdown", (event) => this.begin(event));
      canvas.addEventListener("pointermove", (event) => this.move(event));
      for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => this.end());
      canvas.addEventListener("keydown", (event) => this.press(event));
      canvas.addEventListener("blur", () => this.setCrosshair(null));
      tools.addEventListener("change", (event) => {
        if (event.target.name === "brush") this.brush = Number(event.target.value);
      });
    }

    /** Take up drawing with the points of a state, or stop with null. */
    setPoints(points, isPlane) {
      this.isOn = points !== null;
      this.points = points ?? [];
      this.isPlane = isPlane;
      this.plot.canvas.classList.toggle("drawing", this.isOn);
      if (!this.isOn) this.plot.crosshair = null;
    }

    write() {
      const [left, right] = this.plot.box;
      const digits = Math.max(0, 3 - Math.floor(Math.log10(right - left)));
      const text = (value) => String(Number(value.toFixed(Math.min(8, digits))));
      return this.points.map((point) => (this.isPlane ? [text(point[0]), text(point[1]), point[2]] : [text(point[0]), text(point[1])]).join(",")).join("_");
    }

    locate(event) {
      const box = this.plot.canvas.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    }

    begin(event) {
      if (!this.isOn || event.button > 0) return;
      event.preventDefault();
      this.plot.canvas.focus();
      this.plot.canvas.setPointerCapture(event.pointerId);
      this.isDown = true;
      this.last = null;
      this.use(this.locate(event), event.shiftKey);
    }

    move(event) {
      if (!this.isDown) return;
      const [x, y] = this.locate(event);
      if (this.last && Math.hypot(x - this.last[0], y - this.last[1]) < SPACING) return;
      this.use([x, y], event.shiftKey);
    }

    end() {
      if (!this.isDown) return;
      this.isDown = false;
      this.onChange(true);
    }

    use(place, erases) {
      this.last = place;
      if (erases || this.brush < 0) this.erase(place);
      else if (this.points.length < this.most) this.points.push([...this.plot.toData(...place), this.brush]);
      this.onChange(false);
    }

    erase([x, y]) {
      this.points = this.points.filter((point) => {
        const [px, py] = this.plot.toScreen(point[0], point[1]);
        return Math.hypot(px - x, py - y) > REACH;
      });
    }

    setCrosshair(place) {
      if (!this.isOn || (place === null && this.plot.crosshair === null)) return;
      this.plot.crosshair = place;
      this.onChange(null);
    }

    /** Arrows move a crosshair, Space or Enter adds a point, Delete removes what is near. */
    press(event) {
      if (!this.isOn) return;
      const [left, right, bottom, top] = this.plot.box;
      const now = this.plot.crosshair ?? [(left + right) / 2, (bottom + top) / 2];
      const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      if (by) {
        const x = Math.min(right, Math.max(left, now[0] + (by[0] * (right - left)) / STEPS));
        const y = Math.min(top, Math.max(bottom, now[1] + (by[1] * (top - bottom)) / STEPS));
        this.setCrosshair([x, y]);
      } else if (event.key === " " || event.key === "Enter") {
        this.use(this.plot.toScreen(...now), false);
        this.onChange(true);
      } else if (event.key === "Delete" || event.key === "Backspace") {
        this.erase(this.plot.toScreen(...now));
        this.onChange(true);
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    }
  };

  /** Points of the text that a state has. */
  Lab.readPoints = (text) => text.split("_").filter(Boolean).map((point) => point.split(",").map(Number));
})((window.Lab ??= {}));
