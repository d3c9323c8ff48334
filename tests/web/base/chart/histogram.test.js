import assert from "node:assert/strict";
import { test } from "node:test";
import { bin, stretch } from "../../../../src/rollscope/web/base/chart/histogram.js";

test("a histogram counts every number once and its stretches are ranges", () => {
  assert.deepEqual(bin([0, 0.1, 0.5, 1, NaN, 7], 0, 1, 2), [2, 3]);
  assert.deepEqual(stretch(0.6, 0.1, 0, 2, 10), [0.2, 1.2]);
  assert.deepEqual(stretch(0.5, 0.5, 0, 1, 10), [0.5, 0.6]);
});
