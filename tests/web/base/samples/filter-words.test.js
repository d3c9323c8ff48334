import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import {
  filter,
  passes,
  phrase,
  query,
  says,
  typedWords,
  words,
} from "../../../../src/rollscope/web/base/samples/filter-words.js";
import {
  DROPPED,
  EVAL,
  TRAINED,
  UNKNOWN,
  chosen,
  fits,
  stepOf,
} from "../../../../src/rollscope/web/base/samples/step-samples.js";

/** The examples that the Python implementation is tested against too. */
const TABLE = JSON.parse(readFileSync(new URL("../../../fixtures/filter_words.json", import.meta.url), "utf8"));
const NUMBERS = ["reward", "score", "advantage", "completion_tokens", "turns", "tool_calls", "tool_failures"];
const TEXTS = ["env", "stop_reason", "discard_reason", "tags", "split"];

const fateOf = (sample) => {
  if (sample.split === "eval") return EVAL;
  if (sample.trained) return TRAINED;
  return sample.trained === false || sample.discard_reason ? DROPPED : UNKNOWN;
};

/** A step of one sample, packed as the server packs it. */
function stepWith(sample) {
  const parts = ["rewards", "sample_metrics"].flatMap((column) =>
    Object.entries(sample[column] ?? {}).map(([name, value]) => [`${column}/${name}`, value]),
  );
  const numbers = NUMBERS.map((name) => [name, [sample[name] ?? NaN]]);
  const codes = TEXTS.map((name) => [`${name} code`, [0]]);
  return stepOf({
    head: {
      ids: [sample.id],
      groups: [sample.group ?? sample.task ?? sample.id],
      tasks: [sample.task ?? sample.group ?? sample.id],
      parts: parts.map(([name]) => name),
      marks: new Map(sample.marks ? [[sample.id, sample.marks]] : []),
      words: Object.fromEntries(TEXTS.map((name) => [name, [sample[name] ?? ""]])),
    },
    columns: {
      ...Object.fromEntries([...numbers, ...codes, ...parts.map(([name, value]) => [name, [value]])]),
      group: [0],
      fate: [fateOf(sample)],
      gini: [sample.gini ?? NaN],
    },
  });
}

for (const { query: text, filters } of TABLE.parse)
  test(`read ${JSON.stringify(text)}`, () => {
    const read = words(text).filter((w) => w.kind === "filter");
    assert.deepEqual(
      read.map((w) => [w.field, w.op, w.value]),
      filters,
    );
  });

for (const { words: text, sample, fate, expected } of TABLE.fits)
  test(`${JSON.stringify(text)} on ${sample}${fate ? `, ${fate}` : ""}`, () => {
    const step = stepWith(TABLE.samples[sample]);
    const passed = fate ? chosen(step, fate, words(text)).length === 1 : fits(step, words(text), 0);
    assert.equal(passed, expected);
  });

test("a query and its words are the same thing", () => {
  for (const q of ["reward<0.5 stop:length", 'reason:"zero spread" "Wait, let me"', '"say \\"hi\\""', ""])
    assert.equal(query(words(q)), q);
  assert.deepEqual(
    words('"a b"').map((w) => [w.kind, w.value]),
    [["phrase", "a b"]],
  );
  assert.equal(filter("reason", "=", "zero spread").text, 'reason="zero spread"');
  assert.equal(words(phrase('a "b" \\ c').text)[0].value, 'a "b" \\ c');
});

test("typed words that are no filter are one phrase", () => {
  assert.deepEqual(
    typedWords("stop:length Wait again").map((w) => w.text),
    ["stop:length", '"Wait again"'],
  );
  assert.deepEqual(typedWords("  ").length, 0);
});

test("numbers pass by comparison and by range, and NaN passes nothing", () => {
  assert.ok(passes(0.5, ":", "0..0.5") && !passes(0.51, ":", "0..0.5") && passes(-1, ":", "-2..-0.5"));
  assert.ok(passes(1, ">=", "1") && !passes(1, ">", "1") && passes(0.1 + 0.2, "=", "0.3"));
  assert.ok(!passes(NaN, "<", "1") && !passes(1, "<", "x"));
  assert.ok(says("Length", ":", "len") && !says("Length", "=", "len"));
});
