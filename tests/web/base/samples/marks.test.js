import assert from "node:assert/strict";
import { test } from "node:test";
import { marksOf, problemOf, setsOf } from "../../../../src/rollscope/web/base/samples/marks.js";

const entry = (value) => ({ name: "", value, author: "ann", time_ns: 7 });
const HELD = {
  star: { "a/s/1": entry(true), "b/s/1": entry(true) },
  label: { "a/reward hack/s/1": entry(true), "a/short/s2": entry(true) },
  set: { "to grade/a/s/1": entry(true), "to grade/b/x": entry(true), "other/a/s2": entry(true) },
  comment: { "a/c1/s2": entry("why?") },
};

test("marks are those of the run, and a sample's id may hold a slash", () => {
  const marks = marksOf((kind) => HELD[kind] ?? {}, "a");
  assert.deepEqual([...marks.keys()].sort(), ["s/1", "s2"]);
  assert.deepEqual(marks.get("s/1"), { star: true, labels: ["reward hack"], comments: [], sets: ["to grade"] });
  assert.deepEqual(marks.get("s2")?.comments, [{ id: "c1", text: "why?", author: "ann", time_ns: 7 }]);
});

test("a set counts the samples of every run", () => {
  assert.deepEqual(
    [...setsOf(HELD.set)],
    [
      ["other", 1],
      ["to grade", 2],
    ],
  );
});

test("a label is a few words without a slash", () => {
  assert.deepEqual(
    ["good", "a/b", "  ", "x".repeat(201)].map((text) => problemOf(text) === ""),
    [true, false, false, false],
  );
});
