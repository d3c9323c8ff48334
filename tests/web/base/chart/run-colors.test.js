import assert from "node:assert/strict";
import { test } from "node:test";
import { slots } from "../../../../src/rollscope/web/base/chart/color.js";

const prefers = (/** @type {string} */ id) => Number(id);

test("twelve runs shown together have twelve colours, whatever their places", () => {
  const ids = Array.from({ length: 12 }, (_, i) => String(i * 12)); // all prefer the first colour
  const now = slots(new Map(), ids, prefers);
  assert.equal(new Set([...now.values()].map((slot) => slot % 12)).size, 12);
});

test("a run keeps its colour while others come and go", () => {
  const first = slots(new Map(), ["0", "12", "24"], prefers);
  const then = slots(first, ["24", "36"], prefers);
  assert.equal(then.get("24"), first.get("24"));
  assert.notEqual(then.get("36"), then.get("24"));
  assert.equal(slots(then, ["24", "36", "0"], prefers).get("24"), first.get("24"));
});
