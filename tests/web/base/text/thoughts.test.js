import assert from "node:assert/strict";
import test from "node:test";
import { pieces } from "../../../../src/rollscope/web/base/text/thoughts.js";

test("a thought is a piece of its own, and the pieces are the whole text", () => {
  const text = "a <think>one\ntwo</think> b <think>three</think>";
  const found = pieces(text);
  assert.deepEqual(
    found.map((p) => p.thought),
    [false, true, false, true],
  );
  assert.equal(found.map((p) => p.text).join(""), text);
  assert.ok(found.every((p) => text.startsWith(p.text, p.start)));
});

test("a thought that is not closed stays in sight", () => {
  assert.deepEqual(pieces("x <think>still"), [{ text: "x <think>still", start: 0, thought: false }]);
  assert.deepEqual(pieces(""), []);
});
