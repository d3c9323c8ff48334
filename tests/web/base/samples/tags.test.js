import assert from "node:assert/strict";
import test from "node:test";
import { sideOf, tagText } from "../../../../src/rollscope/web/base/samples/tags.js";

test("tags read as words, never as JSON", () => {
  assert.equal(tagText({ side: "chosen" }), "chosen");
  assert.equal(tagText({ side: "rejected", source: "web" }), "rejected, source web");
  assert.equal(tagText(["hard", "long"]), "hard, long");
  assert.equal(tagText("one"), "one");
  assert.equal(tagText(null), "");
});

test("an answer of a pair knows its side", () => {
  assert.equal(sideOf('{"side":"chosen"}'), "chosen");
  assert.equal(sideOf('{"side":"<b>"}'), "");
  assert.equal(sideOf("side {"), "");
});
