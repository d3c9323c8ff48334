/** What a chart draws, built from a spec, the answers of the server and the view; and what it tells
 * its header: the value under the cursor or the last one, counts of NaN and infinities, the other
 * runs at the cursor, and a sentence for screen readers. */

import { series as colorOf } from "../base/chart/color.js";
import { nearest, normalised, rangeToNormalise, spacing, stepsOf } from "../base/chart/points.js";
import { extent, isConstant } from "../base/chart/scale.js";
import { labels, linear } from "../base/chart/ticks.js";
import { slotOf } from "./theme-colors.js";
import { theme } from "../prefs.js";
import { findings, lastStep, runs, tape, toAxis, view } from "../state.js";
import { baseline, exact, shown, window_ } from "../wire/series.js";

/** @typedef {import("../base/chart/points.js").Series} Series */
/** @typedef {import("../wire/series.js").Answer} Answer */
/** @typedef {{from: number, to: number | null, severity: string}} Interval */
/** @typedef {{color: string, dash: number[], label: string, dashed?: boolean}} Style */
/** @typedef {[number | null, number | null]} Limits */
/** What to draw. `pace` is the distance on x that smoothing counts in, the same at every zoom.
 * @typedef {{series: Series[], styles: Style[], lo: number, hi: number, y: string,
 *   smooth: number, declared: Limits, healthy: Limits, intervals: Interval[], xLabels: boolean,
 *   x: string, points: boolean, heat: any, unit: string, pace?: number}} Model */
/** What a person can do on the chart.
 * @typedef {{onCursor: (x: number | null, y: number) => void, onPick: (x: number) => void,
 *   onRange: (lo: number, hi: number) => void, onWhole: () => void, onZoom: (x: number,
 *   by: number) => void}} Acts */

/** What a card asks for. `still` has no cursor; `plain` ignores smoothing, scale and normalising;
 * `open` is the metric that a click opens.
 * `one` shows the first run alone; a metric may be `right`, on the second axis; `finding` marks its
 * stretch alone.
 * @typedef {{metrics: {name: string, label: string, dashed?: boolean, slot?: number,
 *   right?: boolean}[], one?: boolean, finding?: {rule: string, step: number},
 *   unit: string, range: (number | null)[], healthy: (number | null)[], xLabels: boolean,
 *   points?: boolean, still?: boolean, plain?: boolean, open?: string}} Spec */
/** `at` is the place of the series in the chart, `among` the steps that a mean covers, `delta` the
 * difference to the baseline's value.
 * @typedef {{at: number, name: string, color: string, value: number | null,
 *   among: [number, number] | null, delta: number | null}} Row */
/** The part of a read-out that does not depend on the cursor. `sentence` is for screen readers.
 * @typedef {{nan: number, inf: number, empty: boolean, sentence: Sentence | null}} Facts */
/** @typedef {{last: number | null, low: number, high: number, step: number}} Sentence */
/** `at` is a step, `where` its name on the axis, `among` the steps that a mean covers, `span` the
 * range that 0 to 1 stands for while normalised.
 * @typedef {Facts & {value: number | null, at: number | null, where: string, among: [number,
 *   number] | null, hover: boolean, rows: Row[], legend: Row[], values: (number | null)[],
 *   constant: boolean, stale: boolean, error: string,
 *   waited: number, span: [number, number] | null}} Readout */

const MOST_ROWS = 8;

/** A model with nothing to draw; charts without a run start from it. @type {Model} */
export const BLANK = {
  series: [],
  styles: [],
  lo: 0,
  hi: 1,
  y: "linear",
  smooth: 0,
  declared: [null, null],
  healthy: [null, null],
  intervals: [],
  xLabels: true,
  x: "step",
  points: false,
  heat: null,
  unit: "",
};

/** The model of a spec. `span` is the range that 0 to 1 stands for, null if not normalised.
 * @param {Spec} spec @param {Answer[]} answers
 * @returns {{model: Model, logged: Series[], span: [number, number] | null, onRight: boolean[],
 *   second: SecondAxis | null}} */
export function modelOf(spec, answers) {
  const all = answers.flatMap((a, i) =>
    a.series.filter((s) => !spec.one || s.run === shown.value[0]).map((s) => ({ s, i })),
  );
  const order = all.sort((a, b) => shown.value.indexOf(a.s.run) - shown.value.indexOf(b.s.run));
  const logged = order.map(({ s }) => s);
  const onRight = order.map(({ i }) => Boolean(spec.metrics[i]?.right));
  const second = secondAxis(logged, onRight);
  const span = view.value.norm && !spec.plain ? rangeToNormalise(spec.range, logged) : null;
  const model = {
    series: span
      ? logged.map((s) => normalised(s, ...span))
      : logged.map((s, i) => (second && onRight[i] ? moved(s, second) : s)),
    styles: order.map(({ s, i }) => styleOf(s, i, spec)),
    lo: answers[0]?.lo ?? 0,
    hi: answers[0]?.hi ?? 1,
    y: spec.plain ? "linear" : view.value.y,
    smooth: spec.plain ? 0 : view.value.smooth,
    declared: span ? [0, 1] : /** @type {any} */ (spec.range),
    healthy: span ? [null, null] : /** @type {any} */ (spec.healthy),
    intervals: intervalsOf(spec),
    xLabels: spec.xLabels,
    x: view.value.x,
    points: Boolean(spec.points),
    heat: null,
    unit: span ? "share" : spec.unit,
    pace: pace(),
  };
  return { model, logged, span, second: span ? null : second, onRight };
}

/** Smoothing counts in parts of the full run, so it means the same at every zoom. */
const pace = () =>
  tape.value ? Math.abs(toAxis(tape.value.last) - toAxis(tape.value.first)) / window_.value.points : 0;

/** Colour and label: of the run if several are shown, else of the metric.
 * @param {Series} s @param {number} i @param {Spec} spec @returns {Style} */
function styleOf(s, i, spec) {
  const several = shown.value.length > 1 && !spec.one;
  const row = runs.value?.find((r) => r.id === s.run);
  const metric = spec.metrics[i];
  const slot = slotOf(s.run) + (several ? 0 : (metric?.slot ?? 0));
  const runName = spec.metrics.length > 1 ? "" : row?.name || s.run;
  const label = several ? runName : (metric?.label ?? "");
  return { ...colorOf(slot, theme.value), label, dashed: Boolean(metric?.dashed) };
}

/** The stretches of findings about these metrics, on the axis that is shown. @param {Spec} spec */
export function intervalsOf(spec) {
  const names = spec.metrics.map((m) => m.name);
  const { finding: one } = spec;
  const mine = one
    ? (tape.value?.findings ?? []).filter((f) => f.rule === one.rule && f.step === one.step)
    : findings.value.filter((f) => f.severity !== "info" && names.includes(f.metrics[0] ?? ""));
  return mine.map((f) => ({ from: toAxis(f.step), to: toAxis(f.until ?? lastStep.value), severity: f.severity }));
}

/** The range of x, never empty. @param {Model} m @returns {[number, number]} */
export const xRange = (m) => [m.lo, m.hi > m.lo ? m.hi : m.lo + 1];

/** True if the chart shows one constant. @param {Model} m */
export function isFlat(m) {
  const range = extent(m.series.flatMap((s) => [s.Lo, s.Hi]));
  return range !== null && isConstant(range) && m.series.every((s) => s.X.length > 1);
}

/** What a chart shows, as text for tests. @param {Model} m */
export function summary(m) {
  const sum = (/** @type {(s: Series) => number} */ of) => m.series.reduce((n, s) => n + of(s), 0);
  const points = m.heat ? m.heat.X.length : sum((s) => s.X.length);
  const nan = sum((s) => total(s.marks.nan));
  const inf = sum((s) => total(s.marks.up) + total(s.marks.down));
  const size = `series=${m.heat ? 1 : m.series.length} points=${points} gaps=${sum((s) => s.gaps)}`;
  return `${size} nan=${nan} inf=${inf} marked=${m.intervals.length} lo=${round(m.lo)} hi=${round(m.hi)}`;
}

/** @param {[number, number][]} marks */
const total = (marks) => marks.reduce((n, [, c]) => n + c, 0);

/** @param {number} v */
const round = (v) => Math.round(v * 1000) / 1000;

/** The facts of a read-out. @param {Answer[]} answers @returns {Facts} */
export function factsOf(answers) {
  const series = answers.flatMap((a) => a.series);
  return {
    nan: series.reduce((n, s) => n + total(s.marks.nan), 0),
    inf: series.reduce((n, s) => n + total(s.marks.up) + total(s.marks.down), 0),
    empty: answers.length > 0 && answers.every((a) => !a.stale && a.series.every(isEmpty)),
    sentence: sentenceOf(series[0]),
  };
}

/** @param {Series} s */
const isEmpty = (s) => !s.X.length && !s.marks.nan.length && !s.marks.up.length && !s.marks.down.length;

/** @param {Series | undefined} s @returns {Sentence | null} */
function sentenceOf(s) {
  if (!s || !s.X.length) return null;
  let [low, high] = [Infinity, -Infinity];
  for (let i = 0; i < s.X.length; i++) {
    low = Math.min(low, /** @type {number} */ (s.Lo[i]));
    high = Math.max(high, /** @type {number} */ (s.Hi[i]));
  }
  const end = s.X.length - 1;
  return { last: s.Last[end] ?? null, low, high, step: Math.round((s.Step ?? s.X)[end] ?? 0) };
}

/** The last value of a series. @param {Series} s @returns {Reading} */
export const lastOf = (s) => ({ value: s.Last[s.X.length - 1] ?? null, among: null });

/** The series of a chart with their values at the cursor, highest first, at most eight.
 * @param {Model} model @param {Reading[]} readings @param {number} [most] @returns {Row[]} */
export function rowsAt(model, readings, most = MOST_ROWS) {
  const from = model.series.length < 2 ? -1 : model.series.findIndex((s) => s.run === baseline.value);
  const held = readings[from]?.value ?? null;
  const deltaOf = (/** @type {number} */ i) => {
    const value = readings[i]?.value ?? null;
    return i === from || held === null || value === null ? null : value - held;
  };
  return model.series
    .map((s, i) => ({
      at: i,
      name: model.styles[i]?.label ?? s.run,
      color: model.styles[i]?.color ?? "",
      value: readings[i]?.value ?? null,
      among: readings[i]?.among ?? null,
      delta: deltaOf(i),
    }))
    .sort((a, b) => (b.value ?? -Infinity) - (a.value ?? -Infinity))
    .slice(0, most);
}

/** Right values `from` lie where left values `to` lie.
 * @typedef {{from: [number, number], to: [number, number]}} SecondAxis */

/** The axis of the series on the right; null if one side has none.
 * @param {Series[]} series @param {boolean[]} right @returns {SecondAxis | null} */
export function secondAxis(series, right) {
  const of = (/** @type {boolean} */ side) =>
    extent(series.filter((_, i) => right[i] === side).flatMap((s) => [s.Lo, s.Hi]));
  const [to, from] = [of(false), of(true)];
  if (!to || !from) return null;
  return { from: widened(from), to: widened(to) };
}

/** @param {[number, number]} range @returns {[number, number]} */
const widened = ([lo, hi]) => (hi > lo ? [lo, hi] : [lo - (Math.abs(lo) * 0.05 || 1), hi + (Math.abs(hi) * 0.05 || 1)]);

/** Where a right value lies on the left axis. @param {SecondAxis} axis @param {number} v */
export const onLeft = ({ from, to }, v) => to[0] + ((v - from[0]) / (from[1] - from[0])) * (to[1] - to[0]);

/** @param {Series} s @param {SecondAxis} axis @returns {Series} */
export function moved(s, axis) {
  const to = (/** @type {Float64Array} */ column) => column.map((v) => onLeft(axis, v));
  const before = s.before ? { before: { ...s.before, Mid: to(s.before.Mid) } } : {};
  return { ...s, Lo: to(s.Lo), Hi: to(s.Hi), Mid: to(s.Mid), Last: to(s.Last), ...before };
}

/** Labels of the right axis, each with the left value it stands at. @param {SecondAxis} axis */
export function rightTicks(axis) {
  const ticks = linear(axis.from[0], axis.from[1], 3);
  const words = labels(ticks);
  return ticks.map((t, i) => ({ text: words[i] ?? "", at: onLeft(axis, t) }));
}

/** `from` and `to` are the steps that a mean covers; null for the value of the step itself.
 * @typedef {{value: number | null, among: [number, number] | null}} Reading */

/** The reading of a series at a step.
 * @param {Series} s @param {number} step @param {number} x the step on the axis that is shown
 * @param {boolean} onSteps is the axis that of steps? @returns {Reading} */
export function readingAt(s, step, x, onSteps) {
  if (!onSteps) return readingOnClock(s, step, x);
  if (s.width <= 1) return { value: ownValue(s, step), among: null };
  const value = exact(s.run, s.name, step);
  if (value !== undefined) return { value, among: null };
  const i = nearest(s.X, x, s.width / 2 + 1e-9);
  if (i < 0) return { value: null, among: null };
  const centre = /** @type {number} */ (s.X[i]);
  const half = (s.width - 1) / 2;
  return { value: /** @type {number} */ (s.Mid[i]), among: [Math.ceil(centre - half), Math.floor(centre + half)] };
}

/** The reading at a place of another clock. Runs reach the same second at different steps, so each
 * is read at its own point nearest to the place. A bucket of several points asks for the step.
 * @param {Series} s @param {number} step @param {number} x @returns {Reading} */
function readingOnClock(s, step, x) {
  const i = nearest(s.X, x);
  const near = Math.abs((s.X[i] ?? NaN) - x) <= Math.max(s.width, spacing(s));
  // During a pause the line goes on to the next point.
  const after = (s.X[i] ?? NaN) <= x ? i + 1 : i;
  const onLine = after > 0 && after < s.X.length && !s.Break[after];
  if (!near && !onLine) return { value: null, among: null };
  if (s.N[i] === 1) return { value: /** @type {number} */ (s.Last[i]), among: null };
  const value = s.run === shown.value[0] ? exact(s.run, s.name, step) : undefined;
  if (value !== undefined && value !== null) return { value, among: null };
  return { value: /** @type {number} */ (s.Mid[i]), among: stepsOf(s, i) };
}

/** The value of a step in a series with a bucket for each step. @param {Series} s
 * @param {number} step */
function ownValue(s, step) {
  const i = nearest(s.X, step, 0.49);
  if (i >= 0) return /** @type {number} */ (s.Last[i]);
  const is = (/** @type {[number, number][]} */ marks) => marks.some(([x]) => Math.abs(x - step) < 0.49);
  return is(s.marks.nan) ? NaN : is(s.marks.up) ? Infinity : is(s.marks.down) ? -Infinity : null;
}
