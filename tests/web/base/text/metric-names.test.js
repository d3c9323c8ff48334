import assert from "node:assert/strict";
import { test } from "node:test";
import { find, mergedNames, split, title, tree } from "../../../../src/rollscope/web/base/text/metric-names.js";

test("names split into section, group and leaf", () => {
  assert.deepEqual(split("entropy"), { section: "general", group: "", leaf: "entropy" });
  assert.deepEqual(split("timing/forward/total/mean"), { section: "timing", group: "forward", leaf: "total/mean" });
  assert.deepEqual(title("policy/kl_ref_k3"), { before: "", leaf: "kl ref k3" });
  assert.deepEqual(title("reward/mean"), { before: "reward", leaf: "mean" });
});

test("sections come in the order a run is read in, statistics in the order of a distribution", () => {
  const found = tree(["host/cpu", "reward/max", "reward/mean", "zzz/a", "policy/entropy"].map((name) => ({ name })));
  assert.deepEqual(
    found.map((s) => s.section),
    ["reward", "policy", "zzz", "host"],
  );
  assert.deepEqual(
    found[0].groups[0].metrics.map((m) => m.name),
    ["reward/mean", "reward/max"],
  );
});

test("search finds a metric by any framework's name", () => {
  const all = [{ name: "policy/kl_update_k1", also: ["actor/ppo_kl"], meaning: "How far" }, { name: "reward/mean" }];
  assert.equal(find(all, "ppo_kl").length, 1);
  assert.equal(find(all, "how far").length, 1);
  assert.equal(find(all, "").length, 2);
});

test("names of several runs are listed once, with what the catalogue says", () => {
  const one = {
    names: [{ name: "a", entry: "A", also: ["x"] }],
    entries: { A: { meaning: "m", good: "up", also: ["y"] } },
  };
  const two = {
    names: [
      { name: "a", entry: "", also: [] },
      { name: "b", entry: "", also: [] },
    ],
    entries: {},
  };
  const [a, b, ...rest] = mergedNames([one, two]);
  assert.deepEqual([a.name, a.meaning, a.also, b.name, b.meaning, rest.length], ["a", "m", ["x", "y"], "b", "", 0]);
});
