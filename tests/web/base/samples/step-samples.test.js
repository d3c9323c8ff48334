import assert from "node:assert/strict";
import { test } from "node:test";
import {
  changeOf,
  chosen,
  counts,
  fits,
  grouped,
  orders,
  reasons,
  stepOf,
  usualFate,
} from "../../../../src/rollscope/web/base/samples/step-samples.js";
import { phrase, words } from "../../../../src/rollscope/web/base/samples/filter-words.js";

const step = () =>
  stepOf({
    head: {
      step: 3,
      asked: 3,
      before: 2,
      after: null,
      ids: ["a", "b", "c", "d", "e"],
      groups: ["g0", "g1"],
      tasks: ["t0", "t1"],
      parts: ["rewards/format"],
      ranges: { reward: [0, 1] },
      words: {
        env: ["x", "y"],
        discard_reason: ["", "zero spread"],
        stop_reason: ["stop", "length"],
        tags: [""],
        split: ["train"],
      },
    },
    columns: {
      group: [0, 0, 0, 1, 1],
      fate: [1, 1, 2, 2, 2],
      reward: [0, 1, NaN, 0.5, 0.5],
      advantage: [-1, 1, 0, 0, 0],
      gini: [0.5, 0],
      completion_tokens: [10, 20, 30, 5, 5],
      "env code": [0, 0, 0, 1, 1],
      "discard_reason code": [0, 0, 1, 1, 1],
      "stop_reason code": [0, 1, 0, 0, 0],
      "tags code": [0, 0, 0, 0, 0],
      "split code": [0, 0, 0, 0, 0],
      "rewards/format": [1, 1, 0, NaN, NaN],
    },
  });

test("a group counts under every fate that one of its samples has", () => {
  assert.deepEqual(counts(step()), { trained: 1, dropped: 2, all: 2, eval: 0 });
  assert.equal(usualFate({ trained: 0, dropped: 0, all: 3, eval: 1 }), "all");
});

test("filters by number, word, component and group", () => {
  const s = step();
  const ids = (q) =>
    chosen(s, "all", words(q))
      .map((i) => s.ids[i])
      .join("");
  assert.equal(ids("reward>0.4"), "bde");
  assert.equal(ids("env:y"), "de");
  assert.equal(ids("format=1"), "ab");
  assert.equal(ids("gini>0.1"), "abc");
  assert.equal(ids('reason:"zero spread" tokens<10'), "de");
  assert.equal(ids("group=g1"), "de");
  assert.equal(chosen(s, "trained", []).length, 2);
  assert.ok(fits(s, words('"a phrase is searched elsewhere"'), 0));
});

test("groups come in order, members best to worst, no value last", () => {
  const s = step();
  const all = chosen(s, "all", []);
  assert.deepEqual(
    grouped(s, all, "", {}).map((g) => g.name),
    ["g0", "g1"],
  );
  assert.deepEqual(
    grouped(s, all, "length", {}).map((g) => g.name),
    ["g0", "g1"],
  );
  assert.deepEqual(grouped(s, all, "gini", {})[0].name, "g0");
  assert.deepEqual(
    grouped(s, all, "rewards/format", {}).map((g) => g.name),
    ["g0", "g1"],
  );
  assert.deepEqual(
    grouped(s, all, "", {})[0].members.map((i) => s.ids[i]),
    ["b", "a", "c"],
  );
  const [g1] = grouped(s, all, "change", { t1: [1, 0.9] });
  assert.equal(g1.name, "g1");
  assert.ok(Math.abs(changeOf(g1, { t1: [1, 0.9] }) + 0.4) < 1e-12 && Number.isNaN(changeOf(g1, {})));
  assert.ok(orders(s).some(([key]) => key === "-rewards/format"));
  assert.deepEqual(reasons(s, all), [["zero spread", 3]]);
});
