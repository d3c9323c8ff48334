import assert from "node:assert/strict";
import { test } from "node:test";
import { kept, layout, paint, rowAt, seen, spanAt, zoomed } from "../../../../src/rollscope/web/base/timeline/lanes.js";

const track = (lane, number = 0) => ({ lane, unit: lane.split("/").slice(0, 2).join("/"), number });
const spans = (...rows) => ({
  start: Float64Array.from(rows, (r) => r[0]),
  end: Float64Array.from(rows, (r) => r[1]),
  track: Uint32Array.from(rows, (r) => r[2]),
  name: Uint32Array.from(rows, () => 0),
  flags: Uint8Array.from(rows, () => 0),
  version: Int32Array.from(rows, () => -1),
});

test("a unit with slots has a heading, single lanes share one, rows never overlap", () => {
  const l = layout([track("trainer/0"), track("trainer/1"), track("inference/0/0"), track("inference/0/1")]);
  assert.deepEqual(
    l.heads.map((h) => h.label),
    ["trainer", "inference/0"],
  );
  assert.deepEqual(
    l.rows.map((r) => r.label),
    ["trainer/0", "trainer/1", "slot 0", "slot 1"],
  );
  for (let i = 1; i < l.rows.length; i++) assert.ok(l.rows[i].top >= l.rows[i - 1].top + l.lane);
  assert.equal(rowAt(l, l.rows[2].top + 1).track, 2);
  assert.equal(rowAt(l, l.heads[1].top + 1), null);
});

test("more than forty lanes are thinner", () => {
  assert.equal(layout(Array.from({ length: 41 }, (_, i) => track(`inference/0/${i}`))).lane, 8);
});

test("zooming keeps the moment under the pointer", () => {
  const [lo, hi] = zoomed([10, 20], 12, 0.5, 100);
  assert.equal(hi - lo, 5);
  assert.ok(Math.abs((12 - lo) / (hi - lo) - 0.2) < 1e-9);
});

test("a view never leaves the run altogether, nor gets empty", () => {
  const [lo, hi] = kept([500, 510], 100);
  assert.ok(lo < 105 && hi - lo === 10);
  assert.ok(zoomed([0, 1e-6], 0, 1e-9, 100)[1] > 0);
});

test("every span takes a pixel, inner ones over outer ones", () => {
  const pixels = new Uint32Array(20);
  paint(pixels, 10, spans([0, 10, 0], [4, 4, 0], [12, 13, 1]), [0, 10], (i) => i + 1);
  assert.deepEqual([...pixels.subarray(0, 10)], [1, 1, 1, 1, 2, 1, 1, 1, 1, 1]);
  assert.ok(pixels.subarray(10).every((p) => p === 0));
});

test("the innermost span is under the pointer, on its own lane alone", () => {
  const s = spans([0, 10, 0], [4, 6, 0], [0, 10, 1]);
  assert.equal(spanAt(s, 0, 5, 0), 1);
  assert.equal(spanAt(s, 0, 8, 0), 0);
  assert.equal(spanAt(s, 1, 5, 0), 2);
  assert.equal(spanAt(s, 2, 5, 0), -1);
});

test("of ten thousand lanes only those on the screen are painted", () => {
  const l = layout(Array.from({ length: 10_000 }, (_, i) => track(`env/${i}`)));
  const [first, many] = seen(l, 4000, 4500);
  assert.ok(many > 40 && many < 80 && l.rows[first].top <= 4000 && l.rows[first].top + l.lane >= 4000);
  assert.deepEqual(seen(l, l.height + 100, l.height + 600), [10_000, 0]);
  const pixels = new Uint32Array(10 * 2);
  paint(pixels, 10, spans([0, 10, 4], [0, 10, 5], [0, 5, 6], [0, 10, 7]), [0, 10], (i) => i + 1, [5, 2]);
  assert.deepEqual([...pixels], [...Array(10).fill(2), ...Array(5).fill(3), ...Array(5).fill(0)]);
});

test("a machine stands under the lanes of its unit", () => {
  const l = layout([track("trainer/0"), track("inference/0")], [{ unit: "trainer/0", host: "n", device: "gpu0" }]);
  assert.ok(l.strips[0].top > l.rows[0].top && l.strips[0].top < l.rows[1].top);
  assert.equal(l.strips[0].label, "gpu0");
});
