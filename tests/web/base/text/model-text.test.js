import assert from "node:assert/strict";
import { test } from "node:test";
import { odd, preview, spelled, withPills } from "../../../../src/rollscope/web/base/text/model-text.js";

test("what hides, turns or piles up is named, and the quick look never misses it", () => {
  const named = (text) =>
    withPills(text)
      .filter((p) => p.pill)
      .map((p) => p.text);
  assert.deepEqual(named("a\u202eb\u001b[31mc\ud800 \u{1F600} e\u0301"), ["U+202E", "ESC[31m", "U+D800"]);
  assert.deepEqual(named("\u{E0041}\u3164\u0000"), ["U+E0041", "U+3164", "U+0000"]);
  assert.deepEqual(named(`x${"\u0301".repeat(50)}y`), ["U+0301 and 49 marks more"]);
  assert.deepEqual(named("\u001b]8;;x\u202ey\u0007"), ["U+001B", "U+202E", "U+0007"]); // no sequence swallows what stands in it
  assert.deepEqual(named("\u001b]0;title\u0007"), ["ESC]0;title"]);
  assert.equal(spelled("a\u202eb"), "aU+202Eb");
  for (const text of ["\u202e", "\ud800", "\u{E0041}", "\u0301".repeat(9), "\u001b[0m"]) assert.ok(odd(text));
  assert.ok(!odd("plain, naïve, e\u0301, 漢字\n\t"));
});

test("what would move, hide or colour text is a pill", () => {
  const shown = withPills("a\u202eb\u001b[31mc\u200bd\nline\ttab\ud800z");
  assert.deepEqual(
    shown.filter((p) => p.pill).map((p) => p.text),
    ["U+202E", "ESC[31m", "U+200B", "U+D800"],
  );
  assert.equal(
    shown
      .filter((p) => !p.pill)
      .map((p) => p.text)
      .join(""),
    "abcd\nline\ttabz",
  );
  assert.equal(preview("a\n\n b", 10), "a b");
});
