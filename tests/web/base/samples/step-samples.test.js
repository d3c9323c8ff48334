import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, diff } from "../../../../src/rollscope/web/base/samples/diff.js";
import { bin, stretch } from "../../../../src/rollscope/web/base/chart/histogram.js";
import { changeOf, chosen, counts, fits, grouped, orders, reasons, stepOf, usualFate } from "../../../../src/rollscope/web/base/samples/step-samples.js";
import { odd, withPills, spelled } from "../../../../src/rollscope/web/base/text/model-text.js";
import { cells, hit } from "../../../../src/rollscope/web/base/samples/visit-strip.js";
import { align, coloursOf, level, valuesOf } from "../../../../src/rollscope/web/base/samples/token-colors.js";
import { filter, passes, phrase, query, says, typedWords, words } from "../../../../src/rollscope/web/base/samples/filter-words.js";

const step = () => stepOf({
  head: { step: 3, asked: 3, before: 2, after: null, ids: ["a", "b", "c", "d", "e"], groups: ["g0", "g1"], tasks: ["t0", "t1"], parts: ["rewards/format"], ranges: { reward: [0, 1] }, words: { env: ["x", "y"], discard_reason: ["", "zero spread"], stop_reason: ["stop", "length"], tags: [""], split: ["train"] } },
  columns: { group: [0, 0, 0, 1, 1], fate: [1, 1, 2, 2, 2], reward: [0, 1, NaN, 0.5, 0.5], advantage: [-1, 1, 0, 0, 0], gini: [0.5, 0], completion_tokens: [10, 20, 30, 5, 5], "env code": [0, 0, 0, 1, 1], "discard_reason code": [0, 0, 1, 1, 1], "stop_reason code": [0, 1, 0, 0, 0], "tags code": [0, 0, 0, 0, 0], "split code": [0, 0, 0, 0, 0], "rewards/format": [1, 1, 0, NaN, NaN] },
});

test("what hides, turns or piles up is named, and the quick look never misses it", () => {
  const named = (text) => withPills(text).filter((p) => p.pill).map((p) => p.text);
  assert.deepEqual(named("a\u202eb\u001b[31mc\ud800 \u{1F600} e\u0301"), ["U+202E", "ESC[31m", "U+D800"]);
  assert.deepEqual(named("\u{E0041}\u3164\u0000"), ["U+E0041", "U+3164", "U+0000"]);
  assert.deepEqual(named(`x${"\u0301".repeat(50)}y`), ["U+0301 and 49 marks more"]);
  assert.deepEqual(named("\u001b]8;;x\u202ey\u0007"), ["U+001B", "U+202E", "U+0007"]); // no sequence swallows what stands in it
  assert.deepEqual(named("\u001b]0;title\u0007"), ["ESC]0;title"]);
  assert.equal(spelled("a\u202eb"), "aU+202Eb");
  for (const text of ["\u202e", "\ud800", "\u{E0041}", "\u0301".repeat(9), "\u001b[0m"]) assert.ok(odd(text));
  assert.ok(!odd("plain, naïve, e\u0301, 漢字\n\t"));
});

test("a query and its words are the same thing", () => {
  for (const q of ['reward<0.5 stop:length', 'reason:"zero spread" "Wait, let me"', '"say \\"hi\\""', ""]) assert.equal(query(words(q)), q);
  assert.deepEqual(words('"a b"').map((w) => [w.kind, w.value]), [["phrase", "a b"]]);
  assert.equal(filter("reason", "=", "zero spread").text, 'reason="zero spread"');
  assert.equal(words(phrase('a "b" \\ c').text)[0].value, 'a "b" \\ c');
});

test("what is typed and is no filter is one phrase", () => {
  assert.deepEqual(typedWords("stop:length Wait again").map((w) => w.text), ["stop:length", '"Wait again"']);
  assert.deepEqual(typedWords("  ").length, 0);
});

test("numbers pass by comparison and by range, and no number passes nothing", () => {
  assert.ok(passes(0.5, ":", "0..0.5") && !passes(0.51, ":", "0..0.5") && passes(-1, ":", "-2..-0.5"));
  assert.ok(passes(1, ">=", "1") && !passes(1, ">", "1") && passes(0.1 + 0.2, "=", "0.3"));
  assert.ok(!passes(NaN, "<", "1") && !passes(1, "<", "x"));
  assert.ok(says("Length", ":", "len") && !says("Length", "=", "len"));
});

test("a group counts under every fate that one of its samples has", () => {
  assert.deepEqual(counts(step()), { trained: 1, dropped: 2, all: 2, eval: 0 });
  assert.equal(usualFate({ trained: 0, dropped: 0, all: 3, eval: 1 }), "all");
});

test("filters by number, word, component and group", () => {
  const s = step();
  const ids = (q) => chosen(s, "all", words(q)).map((i) => s.ids[i]).join("");
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
  assert.deepEqual(grouped(s, all, "", {}).map((g) => g.name), ["g0", "g1"]);
  assert.deepEqual(grouped(s, all, "length", {}).map((g) => g.name), ["g0", "g1"]);
  assert.deepEqual(grouped(s, all, "gini", {})[0].name, "g0");
  assert.deepEqual(grouped(s, all, "rewards/format", {}).map((g) => g.name), ["g0", "g1"]);
  assert.deepEqual(grouped(s, all, "", {})[0].members.map((i) => s.ids[i]), ["b", "a", "c"]);
  const [g1] = grouped(s, all, "change", { t1: [1, 0.9] });
  assert.equal(g1.name, "g1");
  assert.ok(Math.abs(changeOf(g1, { t1: [1, 0.9] }) + 0.4) < 1e-12 && Number.isNaN(changeOf(g1, {})));
  assert.ok(orders(s).some(([key]) => key === "-rewards/format"));
  assert.deepEqual(reasons(s, all), [["zero spread", 3]]);
});

test("a histogram counts every number once and its stretches are ranges", () => {
  assert.deepEqual(bin([0, 0.1, 0.5, 1, NaN, 7], 0, 1, 2), [2, 3]);
  assert.deepEqual(stretch(0.6, 0.1, 0, 2, 10), [0.2, 1.2]);
  assert.deepEqual(stretch(0.5, 0.5, 0, 1, 10), [0.5, 0.6]);
});

test("a difference is what the other has not, and the rest is the same", () => {
  const [a, b] = ["let me try 4 + 5 now", "let me try 5 + 5 again now"];
  const [ra, rb] = diff(a, b);
  const without = (text, ranges) => ranges.toReversed().reduce((t, [x, y]) => t.slice(0, x) + t.slice(y), text);
  assert.equal(without(a, ra), without(b, rb));
  assert.equal(a.slice(...ra[0]), "4");
  assert.deepEqual(diff("same", "same"), [[], []]);
  assert.deepEqual(diff("", "x"), [[], [[0, 1]]]);
});

test("random pairs: taking the differences out leaves the same text", () => {
  let seed = 7;
  const next = () => (seed = (seed * 1103515245 + 12345) % 2147483648) / 2147483648;
  const text = () => Array.from({ length: Math.floor(next() * 40) }, () => "abc d".at(Math.floor(next() * 5))).join(next() < 0.5 ? "" : " ");
  const without = (t, ranges) => ranges.toReversed().reduce((u, [x, y]) => u.slice(0, x) + u.slice(y), t);
  for (let i = 0; i < 500; i++) { const [a, b] = [text(), text()]; const [ra, rb] = diff(a, b); assert.equal(without(a, ra), without(b, rb), JSON.stringify([a, b])); }
});

test("texts without anything in common stay bounded", () => {
  const [a, b] = [Array.from({ length: 30000 }, (_, i) => `a${i}`).join(" "), Array.from({ length: 30000 }, (_, i) => `b${i}`).join("\n")];
  const began = performance.now();
  const [ra] = diff(a, b);
  assert.deepEqual(ra, [[0, a.length]]);
  assert.ok(performance.now() - began < 5000);
});

test("a stretch is cut where marks begin and end", () => {
  assert.deepEqual(cut(0, 10, [[2, 4], [8, 20]]), [[0, 2, false], [2, 4, true], [4, 8, false], [8, 10, true]]);
  assert.deepEqual(cut(3, 6, [[2, 4]]), [[3, 4, true], [4, 6, false]]);
  assert.deepEqual(cut(5, 6, [[2, 4]]), [[5, 6, false]]);
});

test("token colours: surprise is orange, advantage has two sides, nothing recorded is no colour", () => {
  assert.deepEqual([level(-0.01, "logprob", 1), level(-0.5, "logprob", 1), level(-5, "logprob", 1), level(null, "logprob", 1)], [0, -2, -4, 0]);
  assert.deepEqual([level(0.4, "advantage", 0.4), level(-0.1, "advantage", 0.4), level(1, "advantage", 0)], [4, -1, 0]);
  assert.deepEqual([level(0.3, "gap", 1), level(-0.06, "gap", 1)], [3, -2]);
  const s = { tokens: ["a", "b"], logp: [-1, null], old_logp: null, rollout_logp: [-1.5, -2], entropy: null, token_advantages: null, action_mask: null };
  assert.deepEqual(valuesOf(s, "gap"), [0.5, null]);
  assert.deepEqual(coloursOf(s), ["plain", "logprob", "gap"]);
  assert.deepEqual(coloursOf({ ...s, tokens: null }), ["plain"]);
});

test("turns are found in the tokens, or not at all", () => {
  assert.deepEqual(align(["Hi", " there", "<tool>", "ok", "bye"], ["Hi there", "bye"]), [[0, 2], [4, 5]]);
  assert.equal(align(["Hi"], ["other"]), null);
});

test("cells of a strip lie inside it and can be hit", () => {
  const list = cells([0, 50, 100], [0, 0.5, 1], [8, 4, 8], { first: 0, last: 100, width: 200, height: 14 });
  assert.equal(list[0].x, 0);
  assert.ok(list[2].x + list[2].width <= 200 && list[1].height === 7);
  assert.equal(hit(list, 101)?.step, 50);
  assert.equal(hit(list, 60), null);
});
