import assert from "node:assert/strict";
import { test } from "node:test";
import { arranged, find, fold, sectionTitle } from "../../../../src/rollscope/web/base/text/metric-names.js";

const named = (/** @type {string[]} */ ...names) => names.map((name) => ({ name }));
const how = { q: "", pinned: [], still: new Set(), watch: null };

test("mean, minimum and maximum of one quantity are one card", () => {
  const all = fold(named("time/step/mean", "time/step/min", "time/step/max", "time/step/p95", "a/min", "b/mean"));
  assert.deepEqual(
    all.map((m) => [m.name, /** @type {any} */ (m).folded ?? []]),
    [
      ["time/step/mean", ["time/step/min", "time/step/max"]],
      ["time/step/p95", []],
      ["a/min", []],
      ["b/mean", []],
    ],
  );
});

test("of many metrics the watched ones come first, and all others are still there", () => {
  const many = named(...Array.from({ length: 80 }, (_, i) => `many/m${i}`), "reward/mean");
  const watch = { title: "GRPO watch list", charts: [["reward/mean"], ["nobody/logs"]] };
  const list = arranged(many, { ...how, watch });
  assert.deepEqual(
    list.map((s) => [s.section, s.count]),
    [
      ["watched", 1],
      ["reward", 1],
      ["many", 80],
    ],
  );
  assert.equal(arranged(many.slice(70), { ...how, watch })[0]?.section, "reward");
});

test("constant and empty metrics are left out on demand, pinned ones never", () => {
  const list = arranged(named("a/x", "a/still"), { ...how, still: new Set(["a/still"]), pinned: ["a/still"] });
  assert.deepEqual(
    list.map((s) => [s.section, s.count]),
    [
      ["pinned", 1],
      ["a", 1],
    ],
  );
});

test("metrics are found by word, pattern and expression", () => {
  const all = named("policy/kl_k1", "policy/kl_k3", "reward/mean");
  const found = (/** @type {string} */ q) => find(all, q).map((m) => m.name);
  assert.deepEqual(found("policy/*"), ["policy/kl_k1", "policy/kl_k3"]);
  assert.deepEqual(found("/kl_k[3]$/"), ["policy/kl_k3"]);
  assert.deepEqual(found("policy /k1/"), ["policy/kl_k1"]);
  assert.deepEqual(found("/(/"), []);
  assert.deepEqual(found("kl"), ["policy/kl_k1", "policy/kl_k3"]);
});

test("sections are named as a person would", () => {
  assert.equal(sectionTitle("val-core"), "Validation");
  assert.equal(sectionTitle("timing_s"), "Time in seconds");
  assert.equal(sectionTitle("my_section"), "My section");
});
