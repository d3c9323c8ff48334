import assert from "node:assert/strict";
import { test } from "node:test";
import { differing, fitting, nodes, previous } from "../../../../src/rollscope/web/base/text/config-tree.js";

const config = { optim: { lr: 1e-6, name: "adam" }, seed: 3, list: [1, { x: 2 }], empty: {} };
const paths = (/** @type {any[]} */ list) =>
  list.flatMap((/** @type {any} */ n) => (n.children ? paths(n.children) : [n.path]));

test("every leaf of a configuration is in the tree", () => {
  assert.deepEqual(paths(nodes(config)), ["optim.lr", "optim.name", "seed", "list.0", "list.1.x", "empty"]);
});

test("the search finds keys and values, and keeps the way to them", () => {
  assert.deepEqual(paths(fitting(nodes(config), "lr")), ["optim.lr"]);
  assert.deepEqual(paths(fitting(nodes(config), "adam")), ["optim.name"]);
  assert.deepEqual(paths(fitting(nodes(config), "optim")), ["optim.lr", "optim.name"]);
  assert.deepEqual(paths(fitting(nodes(config), "nothing")), []);
});

test("what differs from the previous run of the project", () => {
  assert.deepEqual(differing({ a: 1, b: 2 }, { b: 3, c: 4 }), [
    { key: "a", here: 1, before: undefined },
    { key: "b", here: 2, before: 3 },
    { key: "c", here: undefined, before: 4 },
  ]);
  const runs = [
    { id: "a", project: "p", started_ns: 1 },
    { id: "b", project: "p", started_ns: 2 },
    { id: "c", project: "q", started_ns: 3 },
    { id: "d", project: "p", started_ns: 4 },
  ];
  assert.equal(previous(runs, "d")?.id, "b");
  assert.equal(previous(runs, "a"), undefined);
});
