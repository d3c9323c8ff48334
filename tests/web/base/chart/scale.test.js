import assert from "node:assert/strict";
import test from "node:test";
import {
  axis,
  extent,
  isConstant,
  robust,
  bothRead,
  interpolate,
} from "../../../../src/rollscope/web/base/chart/scale.js";

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
test("one spike does not flatten the rest", () => {
  const values = Array.from({ length: 300 }, (_, i) => i % 3);
  values[5] = 1e9;
  assert.deepEqual(robust([values]), [0, 2]);
});
test("a step lies between the readings of a clock, and clocks end at their last reading", () => {
  assert.deepEqual(bothRead([0, 10, null, 20], [100, null, 5, 300]), [
    [0, 20],
    [100, 300],
  ]);
  assert.equal(interpolate([0, 20], [100, 300], 5), 150);
  assert.deepEqual([interpolate([0, 20], [100, 300], -1), interpolate([0, 20], [100, 300], 99)], [100, 300]);
  assert.equal(interpolate([], [], 7), 7);
});
