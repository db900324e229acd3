// The page: a state, its answer, the round that is shown.
"use strict";

((Lab) => {
  const $ = (id) => document.getElementById(id);
  const FILM_ROUNDS = 50;
  const FILM_QUIET_MS = 120;
  const QUIET_MS = 500;
  const METHOD_NAMES = () => Object.fromEntries([...$("method").options].map((option) => [option.value, option.text]));

  const page = { state: null, answer: null, frames: new Map(), round: 1, isPlaying: false, bias: [], serial: 0 };
  let source;
  let plot;
  let charts;
  let controls;
  let drawing;

  // ---- Showing a round -------------------------------------------------------------------------------------------

  const isShare = () => page.answer.task === "classification";
  const needsPoints = () => page.answer.rounds === 0;

  /** The frame of a round, or that of the nearest round that has come. */
  const findFrame = (number) => {
    if (page.frames.has(number)) return page.frames.get(number);
    let best = null;
    for (const known of page.frames.keys()) {
      if (best === null || Math.abs(known - number) < Math.abs(best - number)) best = known;
    }
    return best === null ? null : page.frames.get(best);
  };

  const draw = () => {
    const { answer, round } = page;
    if (!answer) return;
    plot.draw(answer, round, needsPoints() ? null : findFrame(round));
    if (needsPoints()) return;
    charts.errors.draw(answer.errors, round, isShare(), "Error");
    charts.losses.draw(answer.losses, round, false, "Loss");
    charts.margins.draw(answer.margins ? Lab.row(answer.margins, round - 1) : null);
    charts.bias.draw(page.bias, isShare());
    $("round").max = answer.rounds;
    $("round").value = round;
    const name = answer.members[round - 1];
    $("round-text").textContent = `${round} of ${answer.rounds}${name ? `, + ${name}` : ""}`;
    $("round").setAttribute("aria-valuetext", `round ${$("round-text").textContent}`);
    $("snippet").textContent = answer.snippet.replaceAll("@round@", round).replaceAll("@index@", round - 1);
    $("plot").setAttribute("aria-label", summarize());
  };

  let isDue = false;
  /** Draw before the next frame of the screen, once. */
  const drawSoon = () => {
    if (isDue) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      draw();
    });
  };

  const summarize = () => {
    const { answer, round, state } = page;
    if (needsPoints()) return `${answer.train.x.length} drawn points`;
    const errors = Object.entries(answer.errors).map(([name, curve]) => `${name} error ${Lab.formatError(curve[round - 1], isShare())}`);
    return `${METHOD_NAMES()[state.method]} on ${answer.train.x.length} points, round ${round} of ${answer.rounds}: ${errors.join(", ")}`;
  };

  let speaking;
  /** What a screen reader says, when the page has come to rest. */
  const speakSoon = () => {
    clearTimeout(speaking);
    speaking = setTimeout(() => {
      if (!page.isPlaying && page.answer) $("summary").textContent = `${summarize()}.`;
    }, 700);
  };

  const writeAddress = () => {
    if (!window.LAB_RECORDING) history.replaceState(null, "", `#${Lab.writeLink(page.state)}`);
  };

  let addressing;
  const goTo = (number) => {
    if (!page.answer || needsPoints()) return;
    page.round = Math.max(1, Math.min(page.answer.rounds, number));
    page.state = { ...page.state, round: page.round === page.answer.rounds ? 0 : page.round };
    // Browsers limit how often an address may change, and playing changes it often.
    clearTimeout(addressing);
    addressing = setTimeout(writeAddress, 200);
    drawSoon();
    speakSoon();
  };

  // ---- Playing ---------------------------------------------------------------------------------------------------

  const setPlaying = (isPlaying) => {
    page.isPlaying = isPlaying;
    $("play").setAttribute("aria-label", isPlaying ? "Pause" : "Play");
    $("play").classList.toggle("playing", isPlaying);
    if (!isPlaying) {
      speakSoon();
      return;
    }
    if (page.round >= page.answer.rounds) goTo(1);
    let last = performance.now();
    const step = (now) => {
      if (!page.isPlaying) return;
      const due = Math.floor(((now - last) / 1000) * Number($("speed").value));
      if (due > 0) {
        last = now;
        goTo(page.round + 1);
        if (page.round >= page.answer.rounds) {
          setPlaying(false);
          return;
        }
      }
      requestAnimationFrame(step);
    };
    requestAnimationFrame(step);
  };

  const togglePlay = () => page.answer && !needsPoints() && setPlaying(!page.isPlaying);

  // ---- Asking ----------------------------------------------------------------------------------------------------

  const showMessage = (text, isError) => {
    $("message").hidden = !text;
    $("message").textContent = text;
    $("message").classList.toggle("error", Boolean(isError));
  };

  /** Drawn points that are too few for a fit: the points alone. */
  const showPointsOnly = (state) => {
    const points = Lab.readPoints(state.points);
    const isPlane = state.data === "points";
    const column = (k) => Float32Array.from(points, (point) => point[k]);
    const nClasses = Math.max(1, ...points.map((point) => (isPlane ? point[2] : 0))) + 1;
    page.frames = new Map();
    page.answer = {
      task: isPlane ? "classification" : "regression",
      classes: [...Array(nClasses).keys()].map((k) => `class ${k}`),
      box: state.box.split(",").map(Number),
      train: { x: column(0), y: column(1), label: Uint8Array.from(points, (point) => point[2] ?? 0) },
      rounds: 0,
    };
    page.serial += 1;
    showMessage(isPlane ? "Draw points of two classes: click, or drag. Four or more make a fit." : "Draw points: click, or drag. Four or more make a fit.");
    draw();
  };

  const canFit = (state) => {
    if (!state.data.endsWith("points")) return true;
    const points = Lab.readPoints(state.points);
    return points.length >= 4 && (state.data !== "points" || new Set(points.map((point) => point[2])).size > 1);
  };

  const load = async (state) => {
    if (!canFit(state)) {
      showPointsOnly(state);
      return;
    }
    let answer;
    try {
      answer = await source.loadState(state);
    } catch (error) {
      showMessage(error.message, true);
      return;
    }
    showMessage("");
    page.serial += 1;
    page.answer = Lab.readAnswer(answer);
    page.bias = [];
    page.frames = new Map(answer.surface ? Lab.readFilm(answer.surface) : []);
    page.round = Math.min(page.state.round || answer.rounds, answer.rounds);
    document.body.dataset.task = answer.task;
    $("weights-mean").textContent = answer.weights.meaning;
    $("losses").querySelector("figcaption").textContent = state.method === "adaboost" ? "Exponential loss and bound" : "Log loss";
    showClasses();
    draw();
    speakSoon();
    loadMoreSoon(state, page.serial);
  };

  let waiting;
  let filming;
  /** Films of all rounds, then bias and variance, when nothing has changed for a while: a slider that moves asks for neither. */
  const loadMoreSoon = (state, serial) => {
    clearTimeout(waiting);
    clearTimeout(filming);
    if (page.answer.surface) filming = setTimeout(() => loadFilms(state, serial), window.LAB_RECORDING ? 0 : FILM_QUIET_MS);
    waiting = setTimeout(() => loadBias(state, serial), QUIET_MS);
  };

  const isNew = (serial) => serial === page.serial;

  const loadFilms = async (state, serial) => {
    if (!isNew(serial)) return;
    const { rounds } = page.answer;
    const start = Math.floor((page.round - 1) / FILM_ROUNDS);
    const pieces = [...Array(Math.ceil(rounds / FILM_ROUNDS)).keys()].sort((a, b) => Math.abs(a - start) - Math.abs(b - start));
    for (const piece of pieces) {
      if (!isNew(serial)) return;
      const first = piece * FILM_ROUNDS + 1;
      try {
        const film = await source.loadFilm(state, first, Math.min(rounds, first + FILM_ROUNDS - 1));
        if (!isNew(serial)) return;
        for (const [number, frame] of Lab.readFilm(film)) page.frames.set(number, frame);
        drawSoon();
      } catch (error) {
        showMessage(error.message, true);
        return;
      }
    }
  };

  const loadBias = async (state, serial) => {
    if (!isNew(serial)) return; // points that are too few for a fit may have come since
    $("bias").setAttribute("aria-busy", "true");
    for (const size of page.answer.sizes) {
      if (!isNew(serial)) return;
      try {
        const found = await source.loadBias(state, size);
        if (!isNew(serial)) return;
        if (found.unknown) break; // too few points for bootstrap samples; the chart stays as it is
        page.bias.push(found);
      } catch (error) {
        showMessage(error.message, true);
        break;
      }
      charts.bias.draw(page.bias, isShare());
    }
    $("bias").setAttribute("aria-busy", "false");
  };

  const requests = new Lab.LatestOnly(load);

  const change = (patch) => {
    const wasPlaying = page.isPlaying;
    if (wasPlaying) setPlaying(false);
    page.state = { ...page.state, ...patch };
    if (page.state.round >= page.state.rounds) page.state.round = 0;
    controls.show(page.state);
    drawing.setPoints(page.state.data.endsWith("points") ? Lab.readPoints(page.state.points) : null, page.state.data === "points");
    showTools();
    writeAddress();
    return requests.want(page.state);
  };

  // ---- Drawing ---------------------------------------------------------------------------------------------------

  /** The training and test points that are shown, as a state has drawn points. */
  Lab.keepPoints = () => {
    if (!page.answer?.train) return null;
    const { box } = page.answer;
    drawing.setPoints([], page.answer.task === "classification");
    for (const part of [page.answer.train, page.answer.test]) {
      if (!part) continue;
      part.x.forEach((x, i) => drawing.points.push([x, part.y[i], part.label ? part.label[i] : 0]));
    }
    drawing.points = drawing.points.slice(0, drawing.most);
    return { points: drawing.write(), box: box.map((end) => Number(end.toPrecision(6))).join(",") };
  };

  const showTools = () => {
    const isPlane = page.state.data === "points";
    $("tools").hidden = !drawing.isOn;
    if (!drawing.isOn) {
      $("help").textContent = "Space plays, ← and → step, Home and End go to the first and the last round. Click in a curve to go to its round.";
      return;
    }
    $("help").textContent = "Click or drag to add points, with Shift to erase. By keyboard: arrows move a crosshair on the picture, Space adds a point, Delete erases.";
    const count = isPlane ? Math.min(8, Math.max(2, ...drawing.points.map((point) => point[2] + 1)) + 1) : 1;
    const wanted = [...Array(count).keys(), -1];
    if ($("brushes").childElementCount === wanted.length) return;
    $("brushes").replaceChildren(...wanted.map((brush) => {
      const label = document.createElement("label");
      const input = Object.assign(document.createElement("input"), { type: "radio", name: "brush", value: brush });
      input.checked = brush === drawing.brush;
      const text = brush < 0 ? "Eraser" : isPlane ? `Class ${brush}` : "Point";
      label.className = brush < 0 ? "eraser" : `key-${brush}`;
      label.append(input, text);
      return label;
    }));
    if (!$("brushes").querySelector(":checked")) {
      drawing.brush = 0;
      $("brushes").querySelector("input").checked = true;
    }
  };

  const showClasses = () => {
    const { answer } = page;
    const names = answer.task === "classification" ? answer.classes : [];
    $("classes").replaceChildren(...names.map((name, k) => {
      const item = Object.assign(document.createElement("li"), { textContent: name, className: `key-${k} shape-${k % 4}` });
      return item;
    }));
  };

  const usePoints = (isDone) => {
    if (isDone === null) {
      drawSoon();
      return;
    }
    const points = drawing.write();
    if (isDone || drawing.points.length % 4 === 0) change({ points });
    else {
      page.state = { ...page.state, points };
      const part = page.answer.train;
      page.answer = { ...page.answer, radii: null, margins: null, values: null, train: { ...part, ...splitPoints() } };
      plot.draw(page.answer, page.round, needsPoints() ? null : findFrame(page.round));
    }
  };

  const splitPoints = () => ({
    x: Float32Array.from(drawing.points, (point) => point[0]),
    y: Float32Array.from(drawing.points, (point) => point[1]),
    label: Uint8Array.from(drawing.points, (point) => point[2] ?? 0),
  });

  // ---- Starting --------------------------------------------------------------------------------------------------

  const copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
      $("copied").textContent = `${what} copied.`;
    } catch {
      $("copied").textContent = "The browser did not allow copying; select the text instead.";
    }
    setTimeout(() => { $("copied").textContent = ""; }, 3000);
  };

  const listen = () => {
    $("play").addEventListener("click", togglePlay);
    $("first").addEventListener("click", () => goTo(1));
    $("back").addEventListener("click", () => goTo(page.round - 1));
    $("next").addEventListener("click", () => goTo(page.round + 1));
    $("last").addEventListener("click", () => goTo(page.answer.rounds));
    $("round").addEventListener("input", () => goTo(Number($("round").value)));
    for (const name of ["member", "weights", "test"]) {
      $(`show-${name}`).addEventListener("change", (event) => {
        plot.shows[name] = event.target.checked;
        drawSoon();
      });
    }
    $("clear").addEventListener("click", () => change({ points: "" }));
    $("copy-code").addEventListener("click", () => copy($("snippet").textContent, "Code"));
    $("copy-link").addEventListener("click", () => {
      writeAddress();
      copy(location.href, "Link");
    });
    window.addEventListener("hashchange", () => open(location.hash));
    new ResizeObserver(drawSoon).observe($("frame"));
    new ResizeObserver(drawSoon).observe($("charts"));
    document.addEventListener("keydown", (event) => {
      if (event.target.closest("input, select, textarea, button, a, summary") || event.ctrlKey || event.metaKey || event.altKey) return;
      const jump = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 }[event.key];
      if (event.key === " ") togglePlay();
      else if (jump) goTo(page.round + jump);
      else return;
      event.preventDefault();
    });
  };

  const open = (hash) => {
    const { state, hasAlgorithm } = Lab.readLink(hash, page.choices.start);
    const task = page.choices.sets[state.data];
    if (!task) {
      showMessage(`The lab has no set of data named ${state.data}; the link is for another version.`, true);
      return undefined;
    }
    if (!hasAlgorithm) [state.algorithm] = page.choices.algorithms[task];
    return change(state);
  };

  const start = async () => {
    const recording = window.LAB_RECORDING;
    source = recording ? new Lab.RecordedSource(recording) : new Lab.ServerSource(new URLSearchParams(location.search).get("token") ?? "");
    plot = new Lab.Plot($("plot"));
    charts = {
      errors: new Lab.RoundsChart($("errors"), goTo),
      losses: new Lab.RoundsChart($("losses"), goTo),
      margins: new Lab.MarginsChart($("margins")),
      bias: new Lab.BiasChart($("bias")),
    };
    Lab.watchTheme(() => {
      const palette = Lab.readPalette();
      for (const part of [plot, ...Object.values(charts)]) part.setPalette(palette);
      drawSoon();
    });
    try {
      page.choices = await source.loadChoices();
    } catch (error) {
      showMessage(error.message, true);
      return;
    }
    controls = new Lab.Controls(page.choices, source, change, (text) => showMessage(text, true));
    drawing = new Lab.Drawing(plot, $("tools"), usePoints);
    drawing.most = page.choices.most_points;
    listen();
    if (recording) {
      document.body.classList.add("recorded");
      $("title").textContent = recording.title;
    }
    await open(recording ? recording.answer.link : location.hash);
    document.body.dataset.ready = "true";
  };

  Lab.page = page;
  start();
})((window.Lab ??= {}));
