// Where answers come from: the server of the lab, or a recording.
"use strict";

((Lab) => {
  /** Asks the server; an error is a sentence. */
  Lab.ServerSource = class {
    constructor(token) {
      this.token = token;
    }

    async ask(path, body) {
      let response;
      try {
        const method = body === undefined ? "GET" : "POST";
        response = await fetch(path, { method, body, headers: { "X-Lab-Token": this.token } });
      } catch {
        throw new Error("The lab's server does not answer. Is the command committee lab still running?");
      }
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error);
      return answer;
    }

    loadChoices() {
      return this.ask("/api/choices");
    }

    loadState(state) {
      return this.ask("/api/state", JSON.stringify({ state }));
    }

    loadFilm(state, first, last) {
      return this.ask("/api/film", JSON.stringify({ state, first, last }));
    }

    loadBias(state, members) {
      return this.ask("/api/bias", JSON.stringify({ state, members }));
    }

    loadTable(content, columns) {
      return this.ask(`/api/csv?${new URLSearchParams(columns)}`, content);
    }
  };

  /** Plays back what was recorded; everything is there from the start. */
  Lab.RecordedSource = class {
    constructor(recording) {
      this.recording = recording;
    }

    async loadChoices() {
      return this.recording.choices;
    }

    async loadState() {
      return { ...this.recording.answer, sizes: this.recording.bias.map((one) => one.members) };
    }

    async loadFilm(state, first) {
      return this.recording.films.find((film) => first >= film.first && first < film.first + film.codes.shape[0]);
    }

    async loadBias(state, members) {
      return this.recording.bias.find((one) => one.members === members);
    }
  };

  /** Runs the newest of the wanted jobs, one at a time: those that came between are left out. */
  Lab.LatestOnly = class {
    constructor(run) {
      this.run = run;
      this.waiting = null;
      this.isBusy = false;
    }

    async want(job) {
      this.waiting = job;
      if (this.isBusy) return;
      this.isBusy = true;
      while (this.waiting) {
        const next = this.waiting;
        this.waiting = null;
        await this.run(next);
      }
      this.isBusy = false;
    }
  };
})((window.Lab ??= {}));
