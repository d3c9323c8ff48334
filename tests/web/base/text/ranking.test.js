import assert from "node:assert/strict";
import { test } from "node:test";
import { score } from "../../../../src/rollscope/web/base/text/ranking.js";

test("the palette prefers starts and whole words", () => {
  assert.ok(score("policy/entropy", "entropy") > score("policy/entropy_sampled_more", "ent py"));
  assert.equal(score("abc", "xyz"), -1);
});
