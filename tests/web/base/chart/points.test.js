import assert from "node:assert/strict";
import test from "node:test";
import {
  ema,
  nearest,
  normalised,
  points,
  rangeToNormalise,
  stepsOf,
  stretches,
  usual,
} from "../../../../src/rollscope/web/base/chart/points.js";
import { band, line, nonFinite } from "../../../../src/rollscope/web/charts/marks.js";

const none = { run: "r", name: "m", nan: [], up: [], down: [] };
/** @param {(number | null)[]} values */
function made(values, head = none, step = undefined) {
  const mid = values.map((v) => v ?? NaN);
  const count = values.map((v) => (v === null ? 0 : 1));
  return points(
    head,
    values.map((_, i) => i),
    { width: 1 },
    { lo: mid, hi: mid, mid, last: mid, count, step },
  );
}
/** A context that writes down what it is told. */
function recorder() {
  const said = [];
  return {
    said,
    ctx: new Proxy(
      {},
      {
        get:
          (_, name) =>
          (...args) => {
            said.push([name, ...args.map((a) => Math.round(a * 100) / 100)].join(" "));
          },
        set: () => true,
      },
    ),
  };
}
const same = (v) => v;

test("no data is a gap: the line starts again and the band is broken", () => {
  const s = made([1, 2, null, 4, 5]);
  assert.equal(s.gaps, 1);
  assert.deepEqual(stretches(s), [
    [0, 2],
    [2, 4],
  ]);
  const { said, ctx } = recorder();
  line(ctx, s, s.Mid, same, same);
  assert.deepEqual(said, ["beginPath", "moveTo 0 1", "lineTo 1 2", "moveTo 3 4", "lineTo 4 5", "stroke"]);
  const other = recorder();
  band(other.ctx, s, same, same);
  assert.equal(other.said.filter((c) => c === "fill").length, 2);
});
test("a value every fifty steps is not forty-nine gaps", () => {
  const values = Array.from({ length: 301 }, (_, i) => (i % 50 === 0 ? i : null));
  assert.equal(made(values).gaps, 0);
  values[150] = null;
  assert.equal(made(values).gaps, 1);
});
test("a logged NaN or infinity breaks the line and becomes a mark, not a point", () => {
  const s = made([1, NaN, 3], { ...none, nan: [[1, 2]] });
  assert.deepEqual([...s.X], [0, 2]);
  assert.equal(s.gaps, 1);
  assert.deepEqual(s.marks.nan, [[1, 2]]);
  const { said, ctx } = recorder();
  nonFinite(ctx, { ...s, marks: { nan: [[1, 2]], up: [[5, 1]], down: [[6, 1]] } }, same, { top: 0, bottom: 100 }, 4);
  assert.deepEqual(
    said.filter((c) => c === "stroke" || c === "fill"),
    ["stroke", "fill", "fill"],
  );
});
test("a series of nothing but infinities has no points and no scale", () => {
  const s = made([Infinity, Infinity], {
    ...none,
    up: [
      [0, 1],
      [1, 1],
    ],
  });
  assert.equal(s.X.length, 0);
  assert.equal(s.marks.up.length, 2);
});
test("on a clock a slow step is not a gap, and a step without a value is one", () => {
  const values = [1, null, 2, null, 3, 4, null, null, null, null, null, null, 5];
  const step = [0, -1, 1, -1, 2, 3, -1, -1, -1, -1, -1, -1, 4];
  assert.equal(made(values, none, step).gaps, 0);
  step[12] = 6;
  const s = made(values, none, step);
  assert.deepEqual([s.gaps, [...s.Break]], [1, [0, 0, 0, 0, 1]]);
});
test("on a clock an evaluation every fifty steps has no gaps", () => {
  assert.equal(made([1, null, null, 2, null, 3], none, [0, -1, -1, 50, -1, 100]).gaps, 0);
});
test("the usual distance", () => {
  assert.equal(usual([0, 50, 100, 150]), 50);
  assert.equal(usual([3]), 1);
  assert.equal(usual([]), 1);
});
test("the nearest point, within reach", () => {
  const X = Float64Array.of(0, 10, 20);
  assert.equal(nearest(X, 12), 1);
  assert.equal(nearest(X, 14, 2), -1);
  assert.equal(nearest(Float64Array.of(), 1), -1);
});

const column = (
  /** @type {number[]} */ X,
  /** @type {(number | null)[]} */ Mid,
  /** @type {number[]} */ N = X.map(() => 1),
) => ({ X, Mid, N });

test("smoothing starts without bias, keeps gaps, and follows distance", () => {
  assert.deepEqual(ema(column([0, 1, 2], [5, 5, 5]), 0.9), [5, 5, 5]);
  assert.deepEqual(ema(column([0, 1, 2], [1, null, 3]), 0.5)[1], null);
  const near = ema(column([0, 1], [0, 1]), 0.9)[1] ?? 0;
  const far = ema(column([0, 100], [0, 1]), 0.9)[1] ?? 0;
  assert.ok(near < 0.6 && far > 0.99);
});

test("a zoomed chart shows the smoothed values of the whole one", () => {
  const X = Array.from({ length: 300 }, (_, i) => i);
  const Y = X.map((i) => Math.sin(i / 9) + (i % 7));
  const whole = ema(column(X, Y), 0.97);
  const zoomed = ema(column(X.slice(150), Y.slice(150)), 0.97, 1, column(X.slice(0, 150), Y.slice(0, 150)));
  zoomed.forEach((v, i) => assert.ok(Math.abs((v ?? 0) - (whole[150 + i] ?? 0)) < 1e-12));
});

test("a bucket counts as often as it has points", () => {
  assert.equal(ema(column([0, 1], [0, 4], [3, 1]), 1)[1], 1);
});

test("a series is normalised by a known range, else by its own, and a constant by none", () => {
  const s = made([1, 2, 3]);
  assert.deepEqual(rangeToNormalise([0, 10], [s]), [0, 10]);
  assert.deepEqual(rangeToNormalise([null, null], [s]), [1, 3]);
  assert.equal(rangeToNormalise([null, null], [made([2, 2])]), null);
  assert.deepEqual([...normalised(s, 1, 3).Mid], [0, 0.5, 1]);
});

test("a bucket on another clock knows the steps of its values", () => {
  const head = { run: "r", name: "m", nan: [], up: [], down: [] };
  const c = { lo: [1, 2, 3], hi: [1, 2, 3], mid: [1, 2, 3], last: [1, 2, 3], count: [1, 2, 3], step: [240, 242, 245] };
  const s = points(head, [0.5, 1.5, 2.5], { width: 1 }, c);
  assert.deepEqual(stepsOf(s, 1), [241, 242]);
  assert.deepEqual(stepsOf(s, 2), [243, 245]);
  const every = points(head, [0.5, 1.5, 2.5], { width: 1 }, { ...c, step: [10, 30, 60] });
  assert.deepEqual(stepsOf(every, 2), [40, 60]);
  const { step: _, ...onSteps } = c;
  assert.equal(stepsOf(points(head, [0.5, 1.5, 2.5], { width: 1 }, onSteps), 1), null);
});
