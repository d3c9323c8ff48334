import assert from "node:assert/strict";
import { test } from "node:test";
import { draw, mathAt } from "../../../../src/rollscope/web/base/text/markdown.js";
import * as katex from "../../../../src/rollscope/web/vendor/katex.js";
import * as markdown from "../../../../src/rollscope/web/vendor/markdown-it.js";

const html = (text) => draw({ text }, { markdown, katex });

const HOSTILE = [
  "<script>alert(1)</script>",
  "<img src=x onerror=alert(1)>",
  "<svg/onload=alert(1)>",
  '<iframe srcdoc="<script>alert(1)</script>"></iframe>',
  "<style>@import url(https://evil.example)</style>",
  '<meta http-equiv="refresh" content="0;url=https://evil.example">',
  "[go](javascript:alert(1))",
  "[go](<java\tscript:alert(1)>)",
  '[go](https://evil.example "title" onclick=alert(1))',
  '[a](https://evil.example/"onmouseover="alert(1))',
  "![picture](https://evil.example/x.png)",
  '![x" onerror="alert(1)](https://evil.example/x.png)',
  "<https://evil.example>",
  "[x]: https://evil.example\n\n[x]",
  "```\n</code></pre><script>alert(1)</script>\n```",
  '```"><script>alert(1)</script>\ncode\n```',
  "$\\href{javascript:alert(1)}{x}$",
  "$\\url{https://evil.example}$",
  "$\\includegraphics{https://evil.example/x.png}$",
  "$\\htmlData{onclick=alert(1)}{x}$",
  "$\\text{<img src=x onerror=alert(1)>}$",
  "$$\\def\\a{\\a\\a}\\a$$",
  "\\(\\unknown{</math><script>alert(1)</script>}\\)",
  "| <script>alert(1)</script> |\n|---|\n| ![x](https://evil.example) |",
];

for (const text of HOSTILE)
  test(`stays inert: ${JSON.stringify(text)}`, () => {
    const tags = html(text).match(/<[a-z][^>]*>/gi) ?? [];
    for (const tag of tags) {
      assert.doesNotMatch(tag, /^<(script|img|svg|iframe|style|meta|a|link|object|embed|form|base)\b/i);
      const outside = tag.replace(/"[^"]*"/g, '""'); // what stands inside quotes is a value
      assert.doesNotMatch(outside, /\son\w+=|\shref=|\ssrc=/i);
    }
  });

test("Markdown and formulas are drawn", () => {
  assert.match(html("**bold** and `code`"), /<strong>bold<\/strong> and <code>code<\/code>/);
  assert.match(html("Half is $\\frac{1}{2}$."), /<mfrac>/);
  assert.match(html("\\[ x^2 \\]"), /display="block"/);
  assert.match(html("a \\(y\\) b"), /<math/);
});

test("prices are no formulas, and an open mark is text", () => {
  for (const text of ["It costs $5 and $6.", "$ x $", "a $x", "$$"]) assert.doesNotMatch(html(text), /<math/, text);
  assert.equal(mathAt("$x$5", 0), null);
  assert.deepEqual(mathAt("$$x$$", 0), { math: "x", end: 5, alone: true });
});
