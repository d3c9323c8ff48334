/** A chart on a page. It asks for its series while it is near the view, draws when its turn comes,
 * gives its canvas back when it is far away, and tells its header the value under the cursor. */

import { computed, effect, untracked } from "@preact/signals";
import { placeOn } from "../base/text/format.js";
import { density, theme } from "../prefs.js";
import { cursor, firstDrawing, go, runs, step, tape, toAxis, toStepOf, view } from "../state.js";
import { arrived, baseline, drop, nearer, want } from "../wire/series.js";
import { Chart } from "./chart.js";
import { factsOf, intervalsOf, lastOf, modelOf, readingAt, rowsAt } from "./model.js";
import { never, soon, watch } from "./schedule.js";
import { shownSlots } from "./theme-colors.js";

/** @typedef {import("../wire/series.js").Answer} Answer */
/** @typedef {import("./model.js").Readout} Readout */
/** @typedef {import("./model.js").Spec} Spec */

/** What the drawing depends on beside its numbers. The caret and the drawer are not in it. */
const look = computed(() =>
  JSON.stringify([
    theme.value,
    density.value,
    view.value.smooth,
    view.value.y,
    view.value.norm,
    [...shownSlots.value],
    runs.value?.map((r) => [r.id, r.slot, r.name]),
  ]),
);
/** Where the vertical line stands: under the pointer, else at the step. At the end of the run there
 * is no line. */
const caret = computed(() => cursor.value ?? (view.value.step === null ? null : toAxis(step.value)));

const FEW = 4; // series that are named at the ends of their lines

/** Charts that have a canvas; tests hold them to 40. */
export const alive = new Set();

export class Plot {
  /** @param {HTMLElement} host @param {() => Spec} spec @param {(readout: Readout) => void} tell */
  constructor(host, spec, tell) {
    this.host = host;
    this.spec = spec;
    this.tell = tell;
    /** @type {Chart | null} */
    this.chart = null;
    /** @type {(() => void)[]} */
    this.stops = [];
    /** @type {Answer[]} */
    this.answers = [];
    this.drawnFor = "";
    this.facts = factsOf([]);
    this.asking = false;
    this.near = false;
    this.seen = false;
    /** @type {{x: number | null, y: number} | null} */
    this.pointer = null;
    this.hovering = false;
    /** The range that 0 to 1 stands for while normalised. @type {[number, number] | null} */
    this.span = null;
    /** The series as logged, in the order of the chart.
     * @type {import("../base/chart/points.js").Series[]} */
    this.logged = [];
    /** @type {import("./model.js").SecondAxis | null} */
    this.second = null;
    /** Which series are on the second axis. @type {boolean[]} */
    this.right = [];
    this.unwatch = watch(host, this);
    /** @type {[number, number] | null} */
    this.size = null;
    this.sizes = new ResizeObserver(([entry]) => {
      if (entry) this.size = [Math.round(entry.contentRect.width), Math.round(entry.contentRect.height)];
      if (this.chart?.model) this.request();
    });
    this.sizes.observe(host);
  }

  /** Come nearer: fetch the numbers before there is a canvas. */
  ask() {
    if (this.asking) return;
    this.asking = true;
    this.names = this.spec().metrics.map((m) => m.name);
    this.signals = this.names.map(want);
  }

  /** Go far away: release the numbers. */
  leave() {
    if (!this.asking) return;
    this.asking = false;
    for (const name of this.names ?? []) drop(name);
  }

  /** Come into view or leave it. Plots in view are fetched first, and only they follow the pointer.
   * @param {boolean} seen */
  see(seen) {
    if (seen === this.seen) return;
    if (seen) this.ask();
    this.seen = seen;
    for (const name of this.names ?? []) nearer(name, seen ? 1 : -1);
    if (seen) this.point();
  }

  /** Follow the numbers and the cursor, and draw. */
  start() {
    if (this.near) return;
    this.near = true;
    this.ask();
    const signals = this.signals ?? [];
    this.stops.push(
      effect(() => {
        const [answers, drawnFor] = [
          signals.map((s) => s.value),
          look.value + JSON.stringify(intervalsOf(this.spec())),
        ];
        untracked(() => this.changed(answers, drawnFor));
      }),
    );
    this.stops.push(
      effect(() => {
        caret.value;
        cursor.value;
        arrived.value;
        baseline.value;
        if (view.value.x !== "step") tape.value; // it says which step a place on another axis is
        untracked(() => {
          if (this.seen) this.point();
        });
      }),
    );
  }

  /** Stop following and give the canvas back. */
  stop() {
    if (!this.near) return;
    this.near = false;
    for (const stop of this.stops.splice(0)) stop();
    never(this);
    this.chart?.destroy();
    this.chart = null;
    alive.delete(this);
  }

  destroy() {
    this.see(false);
    this.stop();
    this.leave();
    this.unwatch();
    this.sizes.disconnect();
  }

  /** Draw new numbers or a new look. If neither changed, only update the header.
   * @param {Answer[]} answers @param {string} drawnFor */
  changed(answers, drawnFor) {
    const same =
      drawnFor === this.drawnFor &&
      answers.length === this.answers.length &&
      answers.every((a, i) => a.series === this.answers[i]?.series);
    this.answers = answers;
    this.drawnFor = drawnFor;
    this.facts = factsOf(answers);
    if (same && this.chart) {
      this.showStale();
      this.read();
    } else this.request();
  }

  /** Fade the old drawing to 60 % while new numbers are on their way. */
  showStale() {
    this.host.classList.toggle(
      "stale",
      this.answers.some((a) => a.stale && a.requested) && this.answers.some((a) => a.series.length),
    );
  }

  /** Ask for a turn to draw. The header changes with the drawing. */
  request() {
    this.showStale();
    if (this.answers.some((a) => !a.stale || a.series.length)) soon(this, this.host, () => this.draw());
    else this.read();
  }

  draw() {
    if (!this.near) return;
    if (!this.chart) {
      this.chart = new Chart(this.host, this.spec().still ? null : this.acts());
      this.chart.drawn = () => {
        firstDrawing.resolve();
        this.point();
      };
      alive.add(this);
    }
    this.chart.size = this.size;
    const { model, logged, span, second, onRight } = modelOf(this.spec(), this.answers);
    [this.span, this.logged, this.second, this.right] = [span, logged, second, onRight];
    this.chart.set(model);
  }

  /** Redraw after the spec changed. */
  again() {
    if (this.chart) this.request();
  }

  /** @returns {import("./model.js").Acts} */
  acts() {
    return {
      onCursor: (x, y) => this.moved(x, y),
      onPick: (x) => {
        const at = Math.round(toStepOf(x));
        go({ step: at, open: `point:${this.spec().open ?? this.names?.[0] ?? ""}`, why: "" });
      },
      onRange: (lo, hi) => {
        const a = Math.floor(toStepOf(lo));
        go({ range: [a, Math.max(a + 1, Math.ceil(toStepOf(hi)))] });
      },
      onWhole: () => go({ range: null }),
      onZoom: (x, by) => zoom(toStepOf(x), by),
    };
  }

  /** Follow the pointer, at most once a frame. @param {number | null} x @param {number} y */
  moved(x, y) {
    this.hovering = x !== null;
    if (!this.pointer)
      requestAnimationFrame(() => {
        const at = this.pointer;
        this.pointer = null;
        if (!at) return;
        cursor.value = at.x;
        if (at.x !== null) this.highlight(at.x, at.y);
        else this.chart?.highlight(-1);
      });
    this.pointer = { x, y };
  }

  /** Highlight the series nearest to the pointer. @param {number} x @param {number} y */
  highlight(x, y) {
    let [best, gap] = [-1, Infinity];
    this.chart?.at(x).forEach((v, i) => {
      if (v !== null && Math.abs(v - y) < gap) [best, gap] = [i, Math.abs(v - y)];
    });
    this.chart?.highlight(best);
  }

  /** Place the vertical line and write the header. */
  point() {
    this.chart?.mark(caret.value, cursor.value !== null);
    this.read();
  }

  /** Write the header: the value at the pointer, else at the caret, else the last. */
  read() {
    const chart = this.chart;
    const x = chart && !this.spec().still ? caret.value : null;
    const step = x === null ? null : Math.round(toStepOf(x));
    const series = chart ? this.logged : this.answers.flatMap((a) => a.series);
    const readings = series.map((s) =>
      x === null || step === null ? lastOf(s) : readingAt(s, step, x, view.value.x === "step"),
    );
    const values = readings.map((r) => r.value);
    const several = this.hovering && chart?.model && chart.model.series.length > 1;
    this.tell({
      ...this.facts,
      value: values[0] ?? null,
      values,
      at: step,
      where: x === null ? "" : placeOn(view.value.x, x, /** @type {number} */ (step), Date.now()),
      among: readings[0]?.among ?? null,
      hover: x !== null,
      rows: several && chart?.model ? rowsAt(chart.model, readings) : [],
      legend: chart?.model && chart.model.series.length > FEW ? rowsAt(chart.model, readings, Infinity) : [],
      constant: chart?.flat ?? false,
      span: this.span,
      stale: this.answers.some((a) => a.stale),
      error: this.answers.find((a) => a.error)?.error ?? "",
      waited: this.answers[0]?.requested ?? 0,
    });
  }
}

/** Zoom around a step; `by` below 1 zooms in. @param {number} at @param {number} by */
function zoom(at, by) {
  const t = tape.value;
  if (!t) return;
  const [lo, hi] = view.value.range ?? [t.first, t.last];
  const [a, b] = [
    Math.max(t.first, Math.round(at - (at - lo) * by)),
    Math.min(t.last, Math.round(at + (hi - at) * by)),
  ];
  if (b - a < 2) return;
  go({ range: a <= t.first && b >= t.last ? null : [a, b] }, "replace");
}
