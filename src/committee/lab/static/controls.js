// Selects, sliders, tables and the theme; what the user changes is handed on as a patch of the state.
"use strict";

((Lab) => {
  const $ = (id) => document.getElementById(id);
  const SLIDERS = {
    n: "Points",
    noise: "Noise",
    flip: "Wrong labels",
    depth: "Depth of trees",
    rate: "Learning rate",
    rounds: "Rounds",
    subsample: "Share of points",
  };
  const OF_DATA = ["n", "noise", "flip"];
  const N_MEMBERS = 5;
  // What a method is shown with first.
  const USUAL = {
    adaboost: { depth: 1, rate: 1, rounds: 50, subsample: 1 },
    boosting: { depth: 2, rate: 0.2, rounds: 60, subsample: 1 },
    bagging: { depth: 8, rounds: 50, subsample: 1 },
    forest: { depth: 8, rounds: 50, subsample: 1 },
    extra_trees: { depth: 8, rounds: 50, subsample: 1 },
    voting: { depth: 4, rounds: N_MEMBERS },
    stacking: { depth: 4, rounds: N_MEMBERS },
  };
  const ALGORITHM_NAMES = {
    samme: "SAMME",
    discrete: "Discrete (Freund and Schapire)",
    "samme.r": "SAMME.R",
    real: "Real AdaBoost",
    gentle: "Gentle AdaBoost",
    logit: "LogitBoost",
    r2: "AdaBoost.R2",
    rt: "AdaBoost.RT",
  };
  const isPoints = (data) => data.endsWith("points");
  const isCombined = (method) => method === "voting" || method === "stacking";

  Lab.Controls = class {
    constructor(choices, source, onChange, onError) {
      Object.assign(this, { choices, source, onChange, onError, table: null });
      for (const name of Object.keys(SLIDERS)) this.addSlider(name);
      $("data").addEventListener("change", () => this.chooseData($("data").value));
      $("method").addEventListener("change", () => onChange({ method: $("method").value, ...USUAL[$("method").value], round: 0 }));
      $("algorithm").addEventListener("change", () => onChange({ algorithm: $("algorithm").value }));
      $("resample").addEventListener("click", () => onChange({ seed: (this.state.seed + 1) % 1000 }));
      $("draw").addEventListener("click", () => this.chooseData(this.task() === "regression" ? "line_points" : "points"));
      $("load").addEventListener("click", () => $("file").click());
      $("file").addEventListener("change", () => this.openFile($("file").files[0]));
      for (const id of ["across", "up", "label"]) $(id).addEventListener("change", () => this.readTable(false));
      document.addEventListener("dragover", (event) => event.preventDefault());
      document.addEventListener("drop", (event) => {
        event.preventDefault();
        this.openFile(event.dataTransfer.files[0]);
      });
      $("controls").addEventListener("submit", (event) => event.preventDefault());
    }

    task() {
      return this.choices.sets[this.state.data];
    }

    addSlider(name) {
      const row = document.createElement("div");
      row.id = `row-${name}`;
      const label = Object.assign(document.createElement("label"), { htmlFor: name, textContent: SLIDERS[name] });
      const output = Object.assign(document.createElement("output"), { id: `${name}-value`, htmlFor: name });
      const [min, max, step] = this.choices.limits[name];
      const input = Object.assign(document.createElement("input"), { type: "range", id: name, name, min, max, step });
      input.addEventListener("input", () => this.onChange({ [name]: Number(input.value) }));
      row.append(label, output, input);
      $(OF_DATA.includes(name) ? "data-sliders" : "method-sliders").append(row);
    }

    /** Another set; drawn points start with those that are shown. */
    chooseData(data) {
      const task = this.choices.sets[data];
      const patch = { data, points: "", box: "", algorithm: this.fitAlgorithm(task) };
      if (isPoints(data)) {
        const kept = this.choices.sets[this.state.data] === task ? Lab.keepPoints() : null;
        patch.points = kept ? kept.points : "";
        patch.box = kept ? kept.box : task === "regression" ? "0,6,-2,4" : "-2,2,-2,2";
      }
      $("columns").hidden = true;
      this.onChange(patch);
    }

    fitAlgorithm(task) {
      const known = this.choices.algorithms[task];
      return known.includes(this.state.algorithm) ? this.state.algorithm : known[0];
    }

    /** Show a state; rows that do not matter for it are hidden. */
    show(state) {
      this.state = state;
      const task = this.task();
      $("data").value = state.data;
      $("method").value = state.method;
      const names = this.choices.algorithms[task];
      if ($("algorithm").dataset.task !== task) {
        $("algorithm").replaceChildren(...names.map((name) => new Option(ALGORITHM_NAMES[name], name)));
        $("algorithm").dataset.task = task;
      }
      $("algorithm").value = state.algorithm;
      $("algorithm-row").hidden = state.method !== "adaboost";
      const drawn = isPoints(state.data) || state.data === "iris";
      const hidden = {
        n: drawn,
        noise: drawn,
        flip: isPoints(state.data) || task === "regression",
        rate: !["adaboost", "boosting"].includes(state.method),
        subsample: state.method === "adaboost" || isCombined(state.method),
      };
      $("rounds").max = isCombined(state.method) ? N_MEMBERS : this.choices.limits.rounds[1];
      document.querySelector("label[for=rounds]").textContent = isCombined(state.method) ? "Members" : "Rounds";
      for (const name of Object.keys(SLIDERS)) {
        $(`row-${name}`).hidden = Boolean(hidden[name]);
        if (Number($(name).value) !== state[name]) $(name).value = state[name];
        const shown = name === "flip" || name === "subsample" ? `${Math.round(100 * state[name])} %` : String(state[name]);
        $(`${name}-value`).textContent = shown;
        $(name).setAttribute("aria-valuetext", shown);
      }
      $("draw").setAttribute("aria-pressed", String(isPoints(state.data)));
      $("resample").hidden = isPoints(state.data);
    }

    async openFile(file) {
      if (!file) return;
      this.table = { name: file.name, content: file };
      $("file").value = "";
      await this.readTable(true);
    }

    async readTable(isNew) {
      const columns = isNew ? {} : { across: $("across").value, up: $("up").value, label: $("label").value };
      try {
        const found = await this.source.loadTable(this.table.content, columns);
        this.showColumns(found);
        const task = this.choices.sets[found.data];
        this.onChange({ data: found.data, points: found.points, box: found.box, algorithm: this.fitAlgorithm(task), round: 0 });
      } catch (error) {
        this.onError(error.message);
      }
    }

    showColumns(found) {
      const numeric = found.columns.filter((column) => column.is_numeric).map((column) => column.name);
      const few = found.columns.filter((column) => column.has_few_values).map((column) => column.name);
      for (const id of ["across", "up"]) $(id).replaceChildren(...numeric.map((name) => new Option(name, name)));
      $("label").replaceChildren(new Option("none: a curve", "-"), ...few.map((name) => new Option(name, name)));
      for (const id of ["across", "up", "label"]) $(id).value = found.taken[id];
      const left = found.n_rows - found.n_known;
      const notes = [`${found.n_taken} points of ${this.table.name}`];
      if (found.n_taken < found.n_known) notes.push(`a sample of ${found.n_known}`);
      if (left) notes.push(`${left} rows with empty cells are left out`);
      if (found.classes.length) notes.push(`classes ${found.classes.join(", ")}`);
      $("table-note").textContent = `${notes.join("; ")}.`;
      $("columns").hidden = false;
    }
  };

  /** A light or a dark page, by the system's choice until the button is used. */
  Lab.watchTheme = (onChange) => {
    const dark = window.matchMedia("(prefers-color-scheme: dark)");
    const root = document.documentElement;
    const isDark = () => (root.dataset.theme ? root.dataset.theme === "dark" : dark.matches);
    const apply = () => {
      $("theme").textContent = isDark() ? "Light" : "Dark";
      onChange();
    };
    $("theme").addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      apply();
    });
    dark.addEventListener("change", apply);
    // A page that shows a recording in a frame says which theme it has.
    window.addEventListener("message", (event) => {
      if (event.source !== window.parent || !["light", "dark"].includes(event.data?.theme)) return;
      root.dataset.theme = event.data.theme;
      apply();
    });
    apply();
  };
})((window.Lab ??= {}));
