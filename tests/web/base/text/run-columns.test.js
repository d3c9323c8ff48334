import assert from "node:assert/strict";
import { test } from "node:test";
import { grouped, settings, sorted, valueOf } from "../../../../src/rollscope/web/base/text/run-columns.js";
import { matcher, problem } from "../../../../src/rollscope/web/base/text/run-search.js";

/** @param {string} id @param {any} more @returns {any} */
const run = (id, more = {}) => ({ id, name: id, tags: [], config: {}, started_ns: 1, state: "finished", ...more });
const ids = (/** @type {any[]} */ list) => list.map((r) => r.id).join("");

test("runs sort by any column, and those without a value come last", () => {
  const list = [
    run("a", { eval_value: 0.5, config: { lr: 1e-6 } }),
    run("b", { eval_value: null, config: { lr: 1e-5 } }),
    run("c", { eval_value: 0.9, config: {} }),
    run("d", { eval_value: "NaN", config: { lr: 2e-6 } }),
  ];
  assert.equal(ids(sorted(list, "-eval", {}, 0)), "cabd");
  assert.equal(ids(sorted(list, "eval", {}, 0)), "acbd");
  assert.equal(ids(sorted(list, "config.lr", {}, 0)), "adbc");
  assert.equal(ids(sorted(list, "-metric.x", { x: { a: 1, b: 3, d: "Infinity" } }, 0)), "dbac");
  assert.equal(ids(sorted(list, "", {}, 0)), "abcd");
});

test("names sort as people count", () => {
  const list = ["run-10", "run-9", "run-1"].map((id) => run(id));
  assert.deepEqual(
    sorted(list, "name", {}, 0).map((r) => r.id),
    ["run-1", "run-9", "run-10"],
  );
});

test("runs are grouped by the value of a column, in the order in which the values come", () => {
  const list = [
    run("a", { config: { lr: 2 } }),
    run("b", { config: { lr: 1 } }),
    run("c", { config: { lr: 2 } }),
    run("d"),
  ];
  const groups = grouped(list, "config.lr", {}, 0);
  assert.deepEqual(
    groups.map((g) => [g.key, ids(g.runs)]),
    [
      ["2", "ac"],
      ["1", "b"],
      ["", "d"],
    ],
  );
});

test("settings that differ come first; one that some runs lack differs", () => {
  const list = [run("a", { config: { z: 1, lr: 1, only: 1 } }), run("b", { config: { z: 1, lr: 2 } })];
  assert.deepEqual(
    settings(list).map((s) => [s.key, s.differs]),
    [
      ["lr", true],
      ["only", true],
      ["z", false],
    ],
  );
});

test("a search may negate, use regular expressions, and ask for metrics", () => {
  const one = run("grpo-7", { eval: "eval/gsm8k", eval_value: 0.6, tags: ["ablation"], config: { lr: 1e-6 } });
  const values = { "policy/entropy": { "grpo-7": 0.4 } };
  const valueFor = (/** @type {any} */ r, /** @type {string} */ key) => valueOf(r, key, values, 0);
  for (const [query, want] of /** @type {[string, boolean][]} */ ([
    ["not tag:scratch", true],
    ["not tag:ablation", false],
    ["/^grpo-\\d$/", true],
    ["/^abl.*n$/", true],
    ["/grpo-\\d{2}/", false],
    ["name:/^grpo/ config.lr=1e-6", true],
    ["tag:/^abl/", true],
    ["not /^rloo/", true],
    ["/(/", false],
    ["metric.policy/entropy<0.5", true],
    ["metric.policy/entropy>0.5", false],
    ["eval>0.5", true],
    ["eval>0.9", false],
  ]))
    assert.equal(matcher(query, valueFor)(one), want, query);
  assert.match(problem("/(/"), /no regular expression/);
  assert.equal(problem("/a b/ name:x"), "");
});
