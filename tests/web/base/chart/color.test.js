import assert from "node:assert/strict";
import { test } from "node:test";
import { SERIES, density, reward, series } from "../../../../src/rollscope/web/base/chart/color.js";

test("a run keeps its colour; after twelve, dashes", () => {
  assert.equal(series(0, "light").color, SERIES.light[0]);
  assert.equal(series(12, "dark").color, SERIES.dark[0]);
  assert.notDeepEqual(series(12, "dark").dash, []);
});

test("the reward ramp has ends and no value has no colour", () => {
  assert.equal(reward(0, 0, 1, "light"), "#B3470B");
  assert.equal(reward(1, 0, 1, "light"), "#1C5F99");
  assert.equal(reward(null, 0, 1, "light"), null);
  assert.match(density(0.5, "#000000", "#FFFFFF"), /^rgb\(/);
});
