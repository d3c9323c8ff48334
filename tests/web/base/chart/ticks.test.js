import assert from "node:assert/strict";
import { test } from "node:test";
import { axis, linearZone, logAxis } from "../../../../src/rollscope/web/base/chart/scale.js";
import {
  clockLabel,
  labels,
  linear,
  log,
  seconds,
  symlog,
  wholeNumbers,
} from "../../../../src/rollscope/web/base/chart/ticks.js";

test("no ticks like 1e-10 on a constant", () => {
  for (const v of [0, 2, 1e-3, 5e6])
    for (const text of labels(linear(...axis([v, v])))) assert.ok(!/e-1\d/.test(text), `${v}: ${text}`);
});

test("ticks are round and inside", () => {
  for (const [lo, hi] of [
    [0, 1],
    [-3, 17],
    [0.171, 0.173],
    [1e-7, 9e-7],
    [0, 12345],
  ]) {
    const ticks = linear(lo, hi);
    assert.ok(ticks.length >= 2 && ticks.length <= 9, `${lo} ${hi}: ${ticks}`);
    for (const t of ticks) assert.ok(t >= lo - 1e-12 && t <= hi + 1e-12);
    assert.equal(new Set(labels(ticks)).size, ticks.length);
  }
});

test("steps have whole ticks", () => {
  assert.deepEqual(wholeNumbers(0, 3, 6), [0, 1, 2, 3]);
  for (const t of wholeNumbers(180, 312, 6)) assert.ok(Number.isInteger(t));
});

test("a log axis has powers of ten and minor ticks", () => {
  const { major, minor } = log(0.001, 10, 5);
  assert.deepEqual(major, [0.001, 0.01, 0.1, 1, 10]);
  assert.ok(minor.includes(5));
  assert.deepEqual(
    logAxis([[0, -1, 1, 100]]).map((v) => Math.round(Math.log10(v) * 2) / 2 || 0),
    [0, 2],
  );
});

test("symlog is symmetric about its linear zone", () => {
  assert.equal(linearZone([[0.01, 5, -20, 0]]), 0.01);
  const t = symlog(-100, 100, 1);
  assert.deepEqual(t, [...t].map((v) => -v || 0).reverse());
});

test("times have round seconds", () => {
  assert.deepEqual(seconds(0, 100, 4), [0, 30, 60, 90]);
  assert.equal(clockLabel(90, 300), "1:30");
  assert.equal(clockLabel(7200, 9000), "2 h");
});
