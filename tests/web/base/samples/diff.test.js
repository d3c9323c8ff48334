import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, diff } from "../../../../src/rollscope/web/base/samples/diff.js";

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
  const text = () =>
    Array.from({ length: Math.floor(next() * 40) }, () => "abc d".at(Math.floor(next() * 5))).join(
      next() < 0.5 ? "" : " ",
    );
  const without = (t, ranges) => ranges.toReversed().reduce((u, [x, y]) => u.slice(0, x) + u.slice(y), t);
  for (let i = 0; i < 500; i++) {
    const [a, b] = [text(), text()];
    const [ra, rb] = diff(a, b);
    assert.equal(without(a, ra), without(b, rb), JSON.stringify([a, b]));
  }
});

test("texts without anything in common stay bounded", () => {
  const [a, b] = [
    Array.from({ length: 30000 }, (_, i) => `a${i}`).join(" "),
    Array.from({ length: 30000 }, (_, i) => `b${i}`).join("\n"),
  ];
  const began = performance.now();
  const [ra] = diff(a, b);
  assert.deepEqual(ra, [[0, a.length]]);
  assert.ok(performance.now() - began < 5000);
});

test("a stretch is cut where marks begin and end", () => {
  assert.deepEqual(
    cut(0, 10, [
      [2, 4],
      [8, 20],
    ]),
    [
      [0, 2, false],
      [2, 4, true],
      [4, 8, false],
      [8, 10, true],
    ],
  );
  assert.deepEqual(cut(3, 6, [[2, 4]]), [
    [3, 4, true],
    [4, 6, false],
  ]);
  assert.deepEqual(cut(5, 6, [[2, 4]]), [[5, 6, false]]);
});
