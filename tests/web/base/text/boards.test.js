import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, kept, move, put, read, takeAway } from "../../../../src/rollscope/web/base/text/boards.js";

test("a board survives being kept and read", () => {
  const value = {
    panels: [
      {
        id: "a",
        kind: "chart",
        title: "Reward",
        size: 2,
        metrics: [{ name: "reward/mean" }, { name: "x", right: true }],
      },
      { id: "b", kind: "text", size: 1, text: "read me" },
      { id: "c", kind: "sql", size: 1, query: "SELECT 1" },
      { id: "d", kind: "samples", size: 3, order: "best" },
    ],
  };
  const { board, problems } = read(value);
  assert.deepEqual(problems, []);
  assert.deepEqual(board.panels.map(kept), value.panels);
});

test("hostile JSON gets a sentence, and the rest of the board is shown", () => {
  for (const value of [null, 3, "x", [], {}, { panels: 3 }]) assert.equal(read(value).problems.length, 1);
  const { board, problems } = read({
    panels: [
      null,
      3,
      { kind: "script" },
      { kind: "chart" },
      { metrics: "x" },
      { metrics: [{}, { name: 3 }, "good/one"] },
    ],
  });
  assert.deepEqual(
    board.panels.map((p) => p.metrics),
    [[{ name: "good/one" }]],
  );
  assert.equal(problems.length, 5);
  assert.match(problems[2] ?? "", /Panel 3 is left out: its kind "script" is unknown/);
  assert.equal(read({ panels: Array(300).fill({ kind: "text" }) }).board.panels.length, 200);
});

test("panels are put in, moved and taken away", () => {
  const { board } = read({ panels: ["a", "b", "c"].map((id) => ({ id, kind: "text" })) });
  const ids = (/** @type {any} */ b) => b.panels.map((/** @type {any} */ p) => p.id).join("");
  assert.equal(ids(changed(board, "c", move(-2))), "cab");
  assert.equal(ids(changed(board, "a", move(-1))), "abc");
  assert.equal(ids(changed(board, "b", takeAway)), "ac");
  const [first] = board.panels;
  assert.equal(ids(changed(board, "new", put({ .../** @type {any} */ (first), id: "new" }))), "abcnew");
});
