/** Chains of findings: each after its cause, none lost and none told twice. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { chains, summary } from "../../../../src/rollscope/web/base/text/chain.js";

const f = (rule, step, cause = "") => ({ rule, step, cause });
const told = (findings) =>
  chains(findings).map((chain) => chain.map((link) => `${link.depth}${link.f.rule}`).join(" "));

test("what follows stands below its cause, the earlier first", () => {
  assert.deepEqual(
    told([f("reward", 212, "entropy"), f("sync", 180), f("entropy", 197, "sync"), f("ratio", 188, "sync")]),
    ["0sync 1ratio 1entropy 2reward"],
  );
});

test("a cause that is hidden or gone leaves its consequence to stand alone", () => {
  assert.deepEqual(told([f("reward", 212, "entropy"), f("cut", 5)]), ["0reward", "0cut"]);
});

test("findings that name each other as causes are still told once", () => {
  assert.deepEqual(told([f("a", 1, "b"), f("b", 2, "a")]), ["0a", "0b"]);
  assert.deepEqual(told([f("a", 1, "a")]), ["0a"]);
});

test("the sentence says what to mend first", () => {
  assert.equal(summary(chains([f("a", 1)])), "One finding.");
  assert.equal(summary(chains([f("a", 1), f("b", 2)])), "Two findings, none of which explains another.");
  const one = summary(chains([f("a", 1), f("b", 2, "a"), f("c", 3, "a")]));
  assert.equal(one, "Three findings, one cause. Mend the first; the two that follow should go with it.");
});
