import assert from "node:assert/strict";
import { test } from "node:test";
import { changeOf, neverSolved, pairOf, rowsOf } from "../../../../src/rollscope/web/base/evals/task-rows.js";

const matrix = {
  tasks: ["a", "b", "c", "d"],
  labels: ["Mara picks apples", "Tomas is twice as old", "", ""],
  tags: [["fruit"], [], [], []],
  steps: [0, 25, 50],
  graded: true,
  mean: Float32Array.from([0, 0.5, 1, 1, 1, 0.25, 0, 0.5, 0.25, NaN, NaN, NaN]),
  failed: Uint8Array.from([0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0]),
};
const kinds = { lost: ["b"], learnt: ["a"] };

test("the largest change comes first, and a task without a score last", () => {
  assert.deepEqual(rowsOf(matrix, "changed", 0, 2, kinds, ""), [0, 1, 2, 3]);
  assert.equal(changeOf(matrix, 1, 0, 2), -0.75);
  assert.ok(Number.isNaN(changeOf(matrix, 3, 0, 2)));
});

test("a list has the tasks of its kind", () => {
  assert.deepEqual(rowsOf(matrix, "lost", 0, 2, kinds, ""), [1]);
  assert.deepEqual(rowsOf(matrix, "learnt", 0, 2, kinds, ""), [0]);
  assert.deepEqual(rowsOf(matrix, "never", 0, 2, kinds, ""), [2]);
  assert.deepEqual(rowsOf(matrix, "failed", 0, 2, kinds, ""), [3]);
  assert.equal(neverSolved(matrix, 3), false, "a task that was never scored is not unsolved");
});

test("a search looks at id, prompt and tags, with every word", () => {
  assert.deepEqual(rowsOf(matrix, "changed", 0, 2, kinds, "TWICE old"), [1]);
  assert.deepEqual(rowsOf(matrix, "changed", 0, 2, kinds, "fruit"), [0]);
  assert.deepEqual(rowsOf(matrix, "changed", 0, 2, kinds, "fruit old"), []);
});

test("the pair is the brush at evaluated steps, else the newest two", () => {
  assert.deepEqual(pairOf([0, 25, 50], null), [25, 50]);
  assert.deepEqual(pairOf([0, 25, 50], [3, 44]), [0, 50]);
  assert.deepEqual(pairOf([0, 25, 50], [46, 49]), [25, 50], "both ends at one evaluation are no pair");
  assert.deepEqual(pairOf([7], [0, 9]), [7, 7]);
  assert.deepEqual(pairOf([], null), [0, 0]);
});
