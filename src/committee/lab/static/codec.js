// Arrays of answers, states of links, numbers as text.
"use strict";

((Lab) => {
  const TYPES = { u8: Uint8Array, f32: Float32Array };

  /** The typed array of {dtype, shape, data}, with its shape. */
  Lab.unpack = (packed) => {
    const text = atob(packed.data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
    const values = packed.dtype === "u8" ? bytes : new TYPES[packed.dtype](bytes.buffer);
    return Object.assign(values, { shape: packed.shape });
  };

  /** Row number k of an array of two or more dimensions, without a copy. */
  Lab.row = (array, k) => {
    const size = array.length / array.shape[0];
    return array.subarray(k * size, (k + 1) * size);
  };

  const unpackAll = (named) => Object.fromEntries(Object.entries(named).map(([name, one]) => [name, Lab.unpack(one)]));

  /** An answer with its arrays unpacked. */
  Lab.readAnswer = (answer) => {
    const read = { ...answer };
    for (const name of ["train", "test", "errors", "losses", "curve"]) {
      if (answer[name]) read[name] = unpackAll(answer[name]);
    }
    for (const name of ["margins", "values"]) if (answer[name]) read[name] = Lab.unpack(answer[name]);
    read.radii = Lab.unpack(answer.weights.radii);
    read.weightsMean = answer.weights.meaning;
    return read;
  };

  /** The rounds of a film as [round, {size, codes, member}]. */
  Lab.readFilm = (film) => {
    const codes = Lab.unpack(film.codes);
    const member = Lab.unpack(film.member);
    const rounds = [];
    for (let k = 0; k < codes.shape[0]; k += 1) {
      rounds.push([film.first + k, { size: film.size, codes: Lab.row(codes, k), member: Lab.row(member, k) }]);
    }
    return rounds;
  };

  /** The state of the part of an address after #, over the state that the lab starts with. */
  Lab.readLink = (hash, start) => {
    const state = { ...start };
    let isGiven = false;
    for (const [name, value] of new URLSearchParams(hash.replace(/^#/, ""))) {
      if (!(name in start)) continue;
      isGiven = isGiven || name === "algorithm";
      const number = Number(value);
      state[name] = typeof start[name] === "number" && value !== "" && !Number.isNaN(number) ? number : value;
    }
    return { state, hasAlgorithm: isGiven };
  };

  /** The part of an address after #; the server writes the same. */
  Lab.writeLink = (state) => {
    const parts = Object.entries(state).filter(([, value]) => value !== "");
    return new URLSearchParams(parts.map(([name, value]) => [name, String(value)])).toString().replaceAll("%2C", ",");
  };

  /** A share as percent, another number with three digits. */
  Lab.formatError = (value, isShare) => {
    if (!Number.isFinite(value)) return "–";
    return isShare ? `${(100 * value).toFixed(1)} %` : value.toPrecision(3);
  };

  Lab.formatNumber = (value) => {
    const size = Math.abs(value);
    if (value !== 0 && (size >= 1e5 || size < 1e-3)) return value.toExponential(1);
    return String(Number(value.toPrecision(3)));
  };

  /** Round numbers between two ends, about count of them. */
  Lab.chooseTicks = (low, high, count) => {
    const rough = (high - low) / Math.max(1, count);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
    const ticks = [];
    for (let k = Math.ceil(low / step); k * step <= high + step * 1e-9; k += 1) ticks.push(Number((k * step).toPrecision(12)));
    return ticks;
  };
})((window.Lab ??= {}));
