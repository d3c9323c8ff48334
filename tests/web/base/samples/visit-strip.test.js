import assert from "node:assert/strict";
import { test } from "node:test";
import { cells, hit } from "../../../../src/rollscope/web/base/samples/visit-strip.js";

test("cells of a strip lie inside it and can be hit", () => {
  const list = cells([0, 50, 100], [0, 0.5, 1], [8, 4, 8], { first: 0, last: 100, width: 200, height: 14 });
  assert.equal(list[0].x, 0);
  assert.ok(list[2].x + list[2].width <= 200 && list[1].height === 7);
  assert.equal(hit(list, 101)?.step, 50);
  assert.equal(hit(list, 60), null);
});
