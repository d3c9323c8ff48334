import assert from "node:assert/strict";
import test from "node:test";
import { axis, extent, isConstant, linearZone, logAxis, robust } from "../../../../src/rollscope/web/base/chart/scale.js";
import { clockLabel, labels, linear, log, seconds, symlog, wholeNumbers } from "../../../../src/rollscope/web/base/chart/ticks.js";
import { ema } from "../../../../src/rollscope/web/base/chart/points.js";

test("nothing that is not a finite number touches the scale", () => {
  assert.deepEqual(extent([[1, NaN, Infinity, -Infinity, null, 3]]), [1, 3]);
  assert.equal(extent([[NaN, null]]), null);
});
test("a declared range pins the axis, and gives way to data outside it", () => {
  assert.deepEqual(axis([0.2, 0.7], [0, 1]), [0, 1]);
  const [lo, hi] = axis([-0.5, 0.7], [0, 1]);
  assert.ok(lo < -0.5 && hi === Math.min(hi, 1));
  assert.deepEqual(axis(null, [0, 1]), [0, 1]);
});
test("a constant sits in the middle of plus or minus five per cent, and of one at zero", () => {
  assert.deepEqual(axis([2, 2]), [1.9, 2.1]);
  assert.deepEqual(axis([0, 0]), [-1, 1]);
  assert.ok(isConstant([1e-12, 1e-12]) && !isConstant([0, 1e-12]));
});
test("no ticks like 1e-10 on a constant", () => { for (const v of [0, 2, 1e-3, 5e6]) for (const text of labels(linear(...axis([v, v])))) assert.ok(!/e-1\d/.test(text), `${v}: ${text}`); });
test("one spike does not flatten the rest", () => { const values = Array.from({ length: 300 }, (_, i) => i % 3); values[5] = 1e9; assert.deepEqual(robust([values]), [0, 2]); });
test("ticks are round and inside", () => {
  for (const [lo, hi] of [[0, 1], [-3, 17], [0.171, 0.173], [1e-7, 9e-7], [0, 12345]]) {
    const ticks = linear(lo, hi);
    assert.ok(ticks.length >= 2 && ticks.length <= 9, `${lo} ${hi}: ${ticks}`);
    for (const t of ticks) assert.ok(t >= lo - 1e-12 && t <= hi + 1e-12);
    assert.equal(new Set(labels(ticks)).size, ticks.length);
  }
});
test("steps have whole ticks", () => { assert.deepEqual(wholeNumbers(0, 3, 6), [0, 1, 2, 3]); for (const t of wholeNumbers(180, 312, 6)) assert.ok(Number.isInteger(t)); });
test("a log axis has powers of ten and minor ticks", () => {
  const { major, minor } = log(0.001, 10, 5);
  assert.deepEqual(major, [0.001, 0.01, 0.1, 1, 10]);
  assert.ok(minor.includes(5));
  assert.deepEqual(logAxis([[0, -1, 1, 100]]).map((v) => Math.round(Math.log10(v) * 2) / 2 || 0), [0, 2]);
});
test("symlog is symmetric about its linear zone", () => { assert.equal(linearZone([[0.01, 5, -20, 0]]), 0.01); const t = symlog(-100, 100, 1); assert.deepEqual(t, [...t].map((v) => -v || 0).reverse()); });
test("times have round seconds", () => { assert.deepEqual(seconds(0, 100, 4), [0, 30, 60, 90]); assert.equal(clockLabel(90, 300), "1:30"); assert.equal(clockLabel(7200, 9000), "2 h"); });
const points = (/** @type {number[]} */ X, /** @type {(number | null)[]} */ Mid, /** @type {number[]} */ N = X.map(() => 1)) => ({ X, Mid, N });

test("smoothing starts without bias, keeps gaps, and follows distance", () => {
  assert.deepEqual(ema(points([0, 1, 2], [5, 5, 5]), 0.9), [5, 5, 5]);
  assert.deepEqual(ema(points([0, 1, 2], [1, null, 3]), 0.5)[1], null);
  const near = ema(points([0, 1], [0, 1]), 0.9)[1] ?? 0;
  const far = ema(points([0, 100], [0, 1]), 0.9)[1] ?? 0;
  assert.ok(near < 0.6 && far > 0.99);
});

test("a zoomed chart shows the smoothed values of the whole one", () => {
  const X = Array.from({ length: 300 }, (_, i) => i);
  const Y = X.map((i) => Math.sin(i / 9) + (i % 7));
  const whole = ema(points(X, Y), 0.97);
  const zoomed = ema(points(X.slice(150), Y.slice(150)), 0.97, 1, points(X.slice(0, 150), Y.slice(0, 150)));
  zoomed.forEach((v, i) => assert.ok(Math.abs((v ?? 0) - (whole[150 + i] ?? 0)) < 1e-12));
});

test("a bucket counts as often as it has points", () => {
  assert.equal(ema(points([0, 1], [0, 4], [3, 1]), 1)[1], 1);
});
