import assert from "node:assert/strict";
import { test } from "node:test";
import { matches } from "../../../../src/rollscope/web/base/text/run-search.js";

test("the run search understands keys, tags and comparisons", () => {
  const run = {
    id: "x1",
    name: "grpo-7",
    state: "crashed",
    tags: ["ablation"],
    config: { "optim.lr": 1e-6, model: "Qwen" },
  };
  for (const [query, want] of [
    ["grpo", true],
    ["tag:ablation state:crashed", true],
    ["config.optim.lr=1e-6", true],
    ["config.optim.lr<1e-5", true],
    ["config.optim.lr>1e-5", false],
    ["config.model:qwe", true],
    ["state!=crashed", false],
    ["nope", false],
    ["", true],
  ])
    assert.equal(matches(run, query), want, query);
});
