import assert from "node:assert/strict";
import test from "node:test";
import { DEFAULTS, format, parse } from "../../../../src/rollscope/web/base/text/url.js";
import { find, split, title, tree } from "../../../../src/rollscope/web/base/text/metric-names.js";
import { matches } from "../../../../src/rollscope/web/base/text/run-search.js";
import { score } from "../../../../src/rollscope/web/base/text/ranking.js";
import { withPills, preview } from "../../../../src/rollscope/web/base/text/model-text.js";
import { SERIES, density, reward, series } from "../../../../src/rollscope/web/base/chart/color.js";

const back = (view) => { const [path, search = ""] = format(view).split("?"); return parse(path, search); };

test("the whole view is in the address, and comes back", () => {
  const views = [
    { ...DEFAULTS }, { ...DEFAULTS, page: "overview", run: "a b/c", step: 236, range: [180, 312] }, { ...DEFAULTS, page: "metrics", run: "ü", runs: ["x", "y"], x: "tokens", q: "kl & co", smooth: 0.8, y: "log", pin: ["policy/kl_k3"], from: 20, norm: true, open: "point:a/b@c" },
    { ...DEFAULTS, page: "glossary", name: "val-core/*/acc/mean@*" },
  ];
  for (const view of views) { const got = back({ ...view, run: view.run.replace("/", "-") }); assert.deepEqual(got, { ...view, run: view.run.replace("/", "-") }); }
});
test("addresses are readable, sorted, and leave out what is usual", () => {
  assert.equal(format({ ...DEFAULTS, page: "metrics", run: "a", step: 236, range: [180, 312], runs: ["a", "b"], q: "kl", smooth: 0.8, y: "log", pin: ["policy/kl_k3"] }), "r/a/metrics?pin=policy/kl_k3&q=kl&range=180-312&runs=a,b&smooth=.8&step=236&y=log");
  assert.equal(format(DEFAULTS), "");
});
test("nonsense in an address is the usual view", () => { const v = parse("r/a/nopage", "step=x&range=9-1&x=moon&smooth=7&y=&from=-3"); assert.deepEqual([v.page, v.step, v.range, v.x, v.smooth, v.y, v.from], ["overview", null, null, "step", 0.999, "linear", 0]); });

test("names split into section, group and leaf", () => {
  assert.deepEqual(split("entropy"), { section: "general", group: "", leaf: "entropy" });
  assert.deepEqual(split("timing/forward/total/mean"), { section: "timing", group: "forward", leaf: "total/mean" });
  assert.deepEqual(title("policy/kl_ref_k3"), { before: "", leaf: "kl ref k3" });
  assert.deepEqual(title("reward/mean"), { before: "reward", leaf: "mean" });
});
test("sections come in the order a run is read in, statistics in the order of a distribution", () => {
  const found = tree(["host/cpu", "reward/max", "reward/mean", "zzz/a", "policy/entropy"].map((name) => ({ name })));
  assert.deepEqual(found.map((s) => s.section), ["reward", "policy", "zzz", "host"]);
  assert.deepEqual(found[0].groups[0].metrics.map((m) => m.name), ["reward/mean", "reward/max"]);
});
test("search finds a metric by any framework's name", () => { const all = [{ name: "policy/kl_update_k1", also: ["actor/ppo_kl"], meaning: "How far" }, { name: "reward/mean" }]; assert.equal(find(all, "ppo_kl").length, 1); assert.equal(find(all, "how far").length, 1); assert.equal(find(all, "").length, 2); });

test("the run search understands keys, tags and comparisons", () => {
  const run = { id: "x1", name: "grpo-7", state: "crashed", tags: ["ablation"], config: { "optim.lr": 1e-6, model: "Qwen" } };
  for (const [query, want] of [["grpo", true], ["tag:ablation state:crashed", true], ["config.optim.lr=1e-6", true], ["config.optim.lr<1e-5", true], ["config.optim.lr>1e-5", false], ["config.model:qwe", true], ["state!=crashed", false], ["nope", false], ["", true]]) assert.equal(matches(run, query), want, query);
});
test("the palette prefers starts and whole words", () => { assert.ok(score("policy/entropy", "entropy") > score("policy/entropy_sampled_more", "ent py")); assert.equal(score("abc", "xyz"), -1); });

test("what would move, hide or colour text is a pill", () => {
  const shown = withPills("a\u202eb\u001b[31mc\u200bd\nline\ttab\ud800z");
  assert.deepEqual(shown.filter((p) => p.pill).map((p) => p.text), ["U+202E", "ESC[31m", "U+200B", "U+D800"]);
  assert.equal(shown.filter((p) => !p.pill).map((p) => p.text).join(""), "abcd\nline\ttabz");
  assert.equal(preview("a\n\n b", 10), "a b");
});
test("a run keeps its colour; after twelve, dashes", () => { assert.equal(series(0, "light").color, SERIES.light[0]); assert.equal(series(12, "dark").color, SERIES.dark[0]); assert.notDeepEqual(series(12, "dark").dash, []); });
test("the reward ramp has ends and no value has no colour", () => { assert.equal(reward(0, 0, 1, "light"), "#B3470B"); assert.equal(reward(1, 0, 1, "light"), "#1C5F99"); assert.equal(reward(null, 0, 1, "light"), null); assert.match(density(0.5, "#000000", "#FFFFFF"), /^rgb\(/); });
