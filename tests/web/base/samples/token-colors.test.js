import assert from "node:assert/strict";
import { test } from "node:test";
import { align, coloursOf, level, valuesOf, legend } from "../../../../src/rollscope/web/base/samples/token-colors.js";

test("token colours: surprise is orange, advantage has two sides, nothing recorded is no colour", () => {
  assert.deepEqual(
    [level(-0.01, "logprob", 1), level(-0.5, "logprob", 1), level(-5, "logprob", 1), level(null, "logprob", 1)],
    [0, -2, -4, 0],
  );
  assert.deepEqual([level(0.4, "advantage", 0.4), level(-0.1, "advantage", 0.4), level(1, "advantage", 0)], [4, -1, 0]);
  assert.deepEqual([level(0.3, "gap", 1), level(-0.06, "gap", 1)], [3, -2]);
  const s = {
    tokens: ["a", "b"],
    logp: [-1, null],
    old_logp: null,
    rollout_logp: [-1.5, -2],
    entropy: null,
    token_advantages: null,
    action_mask: null,
  };
  assert.deepEqual(valuesOf(s, "gap"), [0.5, null]);
  assert.deepEqual(coloursOf(s), ["plain", "logprob", "gap"]);
  assert.deepEqual(coloursOf({ ...s, tokens: null }), ["plain"]);
});

test("turns are found in the tokens, or not at all", () => {
  assert.deepEqual(align(["Hi", " there", "<tool>", "ok", "bye"], ["Hi there", "bye"]), [
    [0, 2],
    [4, 5],
  ]);
  assert.equal(align(["Hi"], ["other"]), null);
});

test("a legend has each level with the value at which it begins", () => {
  for (const colour of ["logprob", "entropy", "gap"])
    for (const { level: shown, from } of legend(colour, 0)) assert.equal(level(from, colour, 0) + 0, shown);
  for (const { level: shown, from } of legend("advantage", 2)) assert.equal(level(from, "advantage", 2) + 0, shown);
  assert.deepEqual(legend("plain", 1), []);
});
