/** A chart in its place: asks for its series while it is near the view, draws when its turn comes, gives its canvas back when
 *  it is far away, and tells its header what stands under the cursor. */

import { computed, effect, untracked } from "@preact/signals";
import { series as colorOf } from "../base/chart/color.js";
import { extent } from "../base/chart/scale.js";
import { density, theme } from "../prefs.js";
import { cursor, findings, go, ink, lastStep, runs, step, tape, toAxis, toStepOf, view } from "../state.js";
import { drop, nearer, shown, want, window_ } from "../wire/series.js";
import { Chart } from "./chart.js";
import { never, soon } from "./schedule.js";

/** @typedef {import("../state.js").MetricInfo} MetricInfo */
/** @typedef {import("../base/chart/points.js").Series} Series */
/** @typedef {{value: number | null, at: number | null, hover: boolean, rows: {name: string, color: string, value: number | null}[], nan: number, inf: number, constant: boolean, stale: boolean, error: string, waited: number, empty: boolean, span: [number, number] | null, sentence: {last: number | null, low: number, high: number, step: number} | null}} Readout */
/** @typedef {{metrics: {name: string, label: string, dashed?: boolean, slot?: number}[], unit: string, range: (number | null)[], healthy: (number | null)[], xLabels: boolean, points?: boolean, still?: boolean, plain?: boolean, open?: string, heat?: any, window?: [number, number] | null}} Spec */

const ASK = "1400px"; // numbers are fetched this far ahead of the view
const KEEP = "400px"; // and beyond this a card gives its canvas back

/** What every chart's ink depends on beside its numbers: a move of the caret or an opened drawer is not in it. */
const look = computed(() =>
  JSON.stringify([
    theme.value,
    density.value,
    view.value.smooth,
    view.value.y,
    view.value.norm,
    runs.value?.map((r) => [r.id, r.slot, r.name]),
  ]),
);
/** Where the vertical line stands: under the pointer, else at the step; at the end of the run there is nothing to point at. */
const caret = computed(() => cursor.value ?? (view.value.step === null ? null : toAxis(step.value)));

/** Where a canvas is alive; tests hold it to 40. */
export const alive = new Set();

/** @type {WeakMap<Element, Plot>} */
const plots = new WeakMap();
/** @type {WeakMap<Element | Document, IntersectionObserver[]>} */
const eyes = new WeakMap();

/** Three observers for all plots of a page: what comes near in the same frame is asked for in the same request. @param {Element} host @param {Plot} plot */
function watch(host, plot) {
  const root = host.closest(".page");
  const look = (
    /** @type {string} */ rootMargin,
    /** @type {(p: Plot) => void} */ come,
    /** @type {(p: Plot) => void} */ go_,
  ) =>
    new IntersectionObserver(
      (entries) => {
        for (const entry of entries) {
          const p = plots.get(entry.target);
          if (p) (entry.isIntersecting ? come : go_)(p);
        }
      },
      { root, rootMargin },
    );
  const pair = eyes.get(root ?? document) ?? [
    look(
      ASK,
      (p) => p.ask(),
      (p) => p.leave(),
    ),
    look(
      KEEP,
      (p) => p.start(),
      (p) => p.stop(),
    ),
    look(
      "0px",
      (p) => p.see(true),
      (p) => p.see(false),
    ),
  ];
  eyes.set(root ?? document, pair);
  plots.set(host, plot);
  for (const eye of pair) eye.observe(host);
  return () => {
    for (const eye of pair) eye.unobserve(host);
    plots.delete(host);
  };
}

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
    /** @type {import("../wire/series.js").Answer[]} */
    this.answers = [];
    this.drawnFor = "";
    /** What the header says whatever stands under the cursor. @type {Pick<Readout, "nan" | "inf" | "empty" | "sentence">} */
    this.facts = { nan: 0, inf: 0, empty: false, sentence: null };
    this.asking = false;
    this.near = false;
    this.seen = false;
    /** @type {{x: number | null, y: number} | null} */
    this.pointer = null;
    this.hovering = false;
    /** What 0 to 1 stands for while normalised. @type {[number, number] | null} */
    this.span = null;
    this.unwatch = watch(host, this);
    /** @type {[number, number] | null} */
    this.size = null;
    this.sizes = new ResizeObserver(([entry]) => {
      if (entry) this.size = [Math.round(entry.contentRect.width), Math.round(entry.contentRect.height)];
      if (this.chart?.model) this.request();
    });
    this.sizes.observe(host);
  }

  /** Coming nearer: have the numbers ready before there is anything to draw on. */
  ask() {
    if (this.asking) return;
    this.asking = true;
    this.names = this.spec().metrics.map((m) => m.name);
    this.signals = this.names.map(want);
  }

  leave() {
    if (!this.asking) return;
    this.asking = false;
    for (const name of this.names ?? []) drop(name);
  }

  /** In view or not: what is in view is asked for first, and only it follows the pointer. @param {boolean} seen */
  see(seen) {
    if (seen === this.seen) return;
    if (seen) this.ask();
    this.seen = seen;
    for (const name of this.names ?? []) nearer(name, seen ? 1 : -1);
    if (seen) this.point();
  }

  start() {
    if (this.near) return;
    this.near = true;
    this.ask();
    const signals = this.signals ?? [];
    this.stops.push(
      effect(() => {
        const [answers, drawnFor] = [signals.map((s) => s.value), look.value + JSON.stringify(this.intervals())];
        untracked(() => this.changed(answers, drawnFor));
      }),
    );
    this.stops.push(
      effect(() => {
        caret.value;
        cursor.value;
        untracked(() => {
          if (this.seen) this.point();
        });
      }),
    );
  }

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

  /** Other numbers or another look are drawn; that something is on its way is only said. @param {import("../wire/series.js").Answer[]} answers @param {string} drawnFor */
  changed(answers, drawnFor) {
    const same =
      drawnFor === this.drawnFor &&
      answers.length === this.answers.length &&
      answers.every((a, i) => a.series === this.answers[i]?.series);
    this.answers = answers;
    this.drawnFor = drawnFor;
    this.facts = facts(answers);
    if (same && this.chart) {
      this.mood();
      this.read();
    } else this.request();
  }

  /** Old ink stays, at 60 %, while newer is on its way. */
  mood() {
    this.host.classList.toggle(
      "stale",
      this.answers.some((a) => a.stale && a.asked) && this.answers.some((a) => a.series.length),
    );
  }

  /** Ask for a turn to draw; the header is written with the ink. */
  request() {
    this.mood();
    if (this.answers.some((a) => !a.stale || a.series.length)) soon(this, this.host, () => this.draw());
    else this.read();
  }

  draw() {
    if (!this.near) return;
    if (!this.chart) {
      this.chart = new Chart(this.host, this.spec().still ? null : this.acts());
      this.chart.drawn = () => {
        ink.resolve();
        this.point();
      };
      alive.add(this);
    }
    this.chart.size = this.size;
    this.chart.set(this.model());
  }

  /** Redraw with another look, now. */
  again() {
    if (this.chart) this.request();
  }

  /** @returns {import("./chart.js").Model} */
  model() {
    const spec = this.spec();
    const several = shown.value.length > 1;
    const all = this.answers.flatMap((a, i) => a.series.map((s) => ({ s, i })));
    const order = all.sort((a, b) => shown.value.indexOf(a.s.run) - shown.value.indexOf(b.s.run));
    const styles = order.map(({ s, i }) => this.style(s, i, several, spec));
    const norm = (this.span =
      view.value.norm && !spec.plain
        ? spanOf(
            spec.range,
            order.map(({ s }) => s),
          )
        : null);
    const series = order.map(({ s }) => (norm ? normal(s, ...norm) : s));
    const [lo, hi] = spec.window ?? [this.answers[0]?.lo ?? 0, this.answers[0]?.hi ?? 1];
    return {
      series,
      styles,
      lo,
      hi,
      y: spec.plain ? "linear" : view.value.y,
      smooth: spec.plain ? 0 : view.value.smooth,
      declared: norm ? [0, 1] : /** @type {any} */ (spec.range),
      healthy: norm ? [null, null] : /** @type {any} */ (spec.healthy),
      intervals: this.intervals(),
      xLabels: spec.xLabels,
      x: view.value.x,
      started: tape.value?.started ?? 0,
      stale: false,
      points: Boolean(spec.points),
      heat: spec.heat ?? null,
      unit: norm ? "share" : spec.unit,
      pace: pace(),
    };
  }

  /** @param {Series} s @param {number} i @param {boolean} several @param {Spec} spec */
  style(s, i, several, spec) {
    const row = runs.value?.find((r) => r.id === s.run);
    const metric = spec.metrics[i];
    const own = colorOf((row?.slot ?? shown.value.indexOf(s.run)) + (several ? 0 : (metric?.slot ?? 0)), theme.value);
    return {
      ...own,
      label: several ? (spec.metrics.length > 1 ? "" : row?.name || s.run) : (metric?.label ?? ""),
      dashed: Boolean(metric?.dashed),
    };
  }

  intervals() {
    const mine = findings.value.filter((f) => f.severity !== "info" && this.names?.includes(f.metrics[0] ?? ""));
    return mine.map((f) => ({ from: toAxis(f.step), to: toAxis(f.until ?? lastStep.value), severity: f.severity }));
  }

  /** @returns {import("./chart.js").Acts} */
  acts() {
    return {
      onCursor: (x, y) => this.moved(x, y),
      onPick: (x) => {
        const at = Math.round(toStepOf(x));
        go({ step: at, open: `point:${this.spec().open ?? this.names?.[0] ?? ""}` });
      },
      onRange: (lo, hi) => {
        const a = Math.floor(toStepOf(lo));
        go({ range: [a, Math.max(a + 1, Math.ceil(toStepOf(hi)))] });
      },
      onWhole: () => go({ range: null }),
      onZoom: (x, by) => zoom(toStepOf(x), by),
    };
  }

  /** Once a frame is enough, however often the pointer speaks. @param {number | null} x @param {number} y */
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

  /** @param {number} x @param {number} y */
  highlight(x, y) {
    const rows = this.chart?.at(x) ?? [];
    let [best, gap] = [-1, Infinity];
    rows.forEach((row, i) => {
      if (row && Math.abs(row.value - y) < gap) [best, gap] = [i, Math.abs(row.value - y)];
    });
    this.chart?.highlight(best);
  }

  point() {
    this.chart?.mark(caret.value, cursor.value !== null);
    this.read();
  }

  /** A value of the chart as it was logged, also where the chart shows its share of a range. @param {number} v */
  raw(v) {
    return this.span ? this.span[0] + v * (this.span[1] - this.span[0]) : v;
  }

  read() {
    const series = this.answers.flatMap((a) => a.series);
    const model = this.chart?.model ?? null;
    const hover = cursor.value !== null && this.chart !== null;
    const at = hover ? /** @type {number} */ (cursor.value) : null;
    const rows =
      hover && this.chart
        ? this.chart
            .at(/** @type {number} */ (at), this.hovering ? Infinity : 1)
            .map((row) => row && { value: this.raw(row.value) })
        : series.map((s) => (s.X.length ? { value: s.Last[s.X.length - 1] ?? null } : null));
    const first = rows[0]?.value ?? null;
    const list =
      this.hovering && model && model.series.length > 1
        ? model.series
            .map((s, i) => ({
              name: model.styles[i]?.label ?? s.run,
              color: model.styles[i]?.color ?? "",
              value: rows[i]?.value ?? null,
            }))
            .sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity))
            .slice(0, 8)
        : [];
    this.tell({
      ...this.facts,
      value: first,
      at: hover ? Math.round(toStepOf(/** @type {number} */ (at))) : null,
      hover,
      rows: list,
      constant: this.chart?.flat ?? false,
      span: this.span,
      stale: this.answers.some((a) => a.stale),
      error: this.answers.find((a) => a.error)?.error ?? "",
      waited: this.answers[0]?.asked ?? 0,
    });
  }
}

/** @param {import("../wire/series.js").Answer[]} answers @returns {Pick<Readout, "nan" | "inf" | "empty" | "sentence">} */
function facts(answers) {
  const series = answers.flatMap((a) => a.series);
  const total = (/** @type {(s: Series) => [number, number][]} */ of) =>
    series.reduce((n, s) => n + of(s).reduce((m, [, c]) => m + c, 0), 0);
  const none = (/** @type {Series} */ s) =>
    !s.X.length && !s.marks.nan.length && !s.marks.up.length && !s.marks.down.length;
  return {
    nan: total((s) => s.marks.nan),
    inf: total((s) => s.marks.up) + total((s) => s.marks.down),
    empty: answers.length > 0 && answers.every((a) => !a.stale && a.series.every(none)),
    sentence: sentence(series[0]),
  };
}

/** Smoothing counts in parts of the whole run, so that it means the same at every zoom. */
const pace = () =>
  tape.value ? Math.abs(toAxis(tape.value.last) - toAxis(tape.value.first)) / window_.value.points : 0;

/** What a screen reader is told. @param {Series | undefined} s */
function sentence(s) {
  if (!s || !s.X.length) return null;
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < s.X.length; i++) {
    low = Math.min(low, /** @type {number} */ (s.Lo[i]));
    high = Math.max(high, /** @type {number} */ (s.Hi[i]));
  }
  return { last: s.Last[s.X.length - 1] ?? null, low, high, step: Math.round(s.X[s.X.length - 1] ?? 0) };
}

/** The range that 0 to 1 stands for: the known one, else what these series went through; of a constant there is none. @param {(number | null)[]} known @param {Series[]} series @returns {[number, number] | null} */
function spanOf([lo, hi], series) {
  if (typeof lo === "number" && typeof hi === "number") return [lo, hi];
  const seen = extent(series.flatMap((s) => [s.Lo, s.Hi]));
  return seen && seen[1] > seen[0] ? seen : null;
}

/** @param {Series} s @param {number} lo @param {number} hi @returns {Series} */
function normal(s, lo, hi) {
  const to = (/** @type {Float64Array} */ column) => column.map((v) => (v - lo) / (hi - lo || 1));
  return {
    ...s,
    Lo: to(s.Lo),
    Hi: to(s.Hi),
    Mid: to(s.Mid),
    Last: to(s.Last),
    ...(s.before ? { before: { ...s.before, Mid: to(s.before.Mid) } } : {}),
  };
}

/** Zoom about a step. @param {number} at @param {number} by */
export function zoom(at, by) {
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
