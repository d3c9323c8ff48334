import assert from "node:assert/strict";
import test from "node:test";
import { DEFAULTS, elsewhere, format, parse } from "../../../../src/rollscope/web/base/text/url.js";

const back = (view) => {
  const [path, search = ""] = format(view).split("?");
  return parse(path, search);
};

test("the whole view is in the address, and comes back", () => {
  const views = [
    { ...DEFAULTS },
    { ...DEFAULTS, page: "overview", run: "a b/c", step: 236, range: [180, 312] },
    {
      ...DEFAULTS,
      page: "metrics",
      run: "ü",
      runs: ["x", "y"],
      x: "tokens",
      q: "kl & co",
      smooth: 0.8,
      y: "log",
      pin: ["policy/kl_k3"],
      from: 20,
      norm: true,
      open: "point:a/b@c",
    },
    { ...DEFAULTS, page: "glossary", name: "val-core/*/acc/mean@*" },
  ];
  for (const view of views) {
    const got = back({ ...view, run: view.run.replace("/", "-") });
    assert.deepEqual(got, { ...view, run: view.run.replace("/", "-") });
  }
});
test("addresses are readable, sorted, and leave out what is usual", () => {
  assert.equal(
    format({
      ...DEFAULTS,
      page: "metrics",
      run: "a",
      step: 236,
      range: [180, 312],
      runs: ["a", "b"],
      q: "kl",
      smooth: 0.8,
      y: "log",
      pin: ["policy/kl_k3"],
    }),
    "r/a/metrics?pin=policy/kl_k3&q=kl&range=180-312&runs=a,b&smooth=.8&step=236&y=log",
  );
  assert.equal(format(DEFAULTS), "");
});
test("nonsense in an address is the usual view", () => {
  const v = parse("r/a/nopage", "step=x&range=9-1&x=moon&smooth=7&y=&from=-3");
  assert.deepEqual(
    [v.page, v.step, v.range, v.x, v.smooth, v.y, v.from],
    ["overview", null, null, "step", 0.999, "linear", 0],
  );
});

test("another page of the run keeps the step, another run keeps neither step nor range", () => {
  const view = { ...DEFAULTS, page: "metrics", run: "a", step: 7, range: [1, 9], q: "kl", open: "metric:x" };
  assert.deepEqual(elsewhere(view, "a", "sql"), { ...DEFAULTS, page: "sql", run: "a", step: 7, range: [1, 9] });
  assert.deepEqual(elsewhere(view, "b", "overview"), { ...DEFAULTS, page: "overview", run: "b" });
});
