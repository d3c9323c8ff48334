import assert from "node:assert/strict";
import test from "node:test";
import {
  bytes,
  count,
  duration,
  number,
  percent,
  plural,
  portion,
  rough,
  value,
  worded,
} from "../../../../src/rollscope/web/base/text/format.js";

const table = (name, rows, of) =>
  test(name, () => {
    for (const [given, want] of rows) assert.equal(of(...[given].flat()), want, `of ${JSON.stringify(given)}`);
  });

table(
  "numbers have three significant digits",
  [
    [0, "0"],
    [0.412, "0.412"],
    [0.4125, "0.412"],
    [12.34, "12.3"],
    [906, "906"],
    [999.4, "999"],
    [999.7, "1k"],
    [1580, "1.58k"],
    [12345, "12.3k"],
    [4.1e6, "4.1M"],
    [2e9, "2B"],
    [1e-6, "1e-6"],
    [3.21e-7, "3.21e-7"],
    [0.0187, "0.0187"],
    [-0.25, "\u22120.25"],
    [-3e-5, "\u22123e-5"],
    [NaN, "NaN"],
    [Infinity, "+Inf"],
    [-Infinity, "\u2212Inf"],
    [null, "–"],
    [undefined, "–"],
    [1e300, "1e300"],
  ],
  number,
);
table(
  "counts have commas",
  [
    [0, "0"],
    [999, "999"],
    [4096, "4,096"],
    [-1234567, "\u22121,234,567"],
    [null, "–"],
  ],
  count,
);
table(
  "shares are per cent, one decimal under ten",
  [
    [0.31, "31"],
    [0.042, "4.2"],
    [0.04, "4"],
    [1, "100"],
    [0, "0"],
    [0.0004, "0.04"],
    [-0.5, "\u221250"],
  ],
  percent,
);
table(
  "a part that is hardly there says so",
  [
    [0.57, "57"],
    [0.002, "0.2"],
    [0.0004, "<0.1"],
    [0, "0"],
  ],
  portion,
);
table(
  "durations",
  [
    [0, "0 s"],
    [0.24, "240 ms"],
    [18.4, "18.4 s"],
    [192, "3 min 12 s"],
    [60, "1 min"],
    [8040, "2 h 14 min"],
    [90000, "25 h"],
    [200000, "2 d 7 h"],
    [null, "–"],
    [0.00005, "50 µs"],
  ],
  duration,
);
table(
  "rough times",
  [
    [0.4, "0 s"],
    [59, "59 s"],
    [240, "4 min"],
    [2460, "41 min"],
    [7200, "2 h"],
  ],
  rough,
);
table(
  "a number and its unit",
  [
    [[0.31, "share"], "31 %"],
    [[18.4, "seconds"], "18.4 s"],
    [[1.5e9, "bytes"], "1.5 GB"],
    [[0.11, "nats/token"], "0.11 nats/token"],
    [[3, "count"], "3"],
    [[0.14, "correlation"], "0.14"],
    [[NaN, "share"], "NaN"],
    [[null, "s"], "–"],
  ],
  worded,
);

test("the unit stands apart", () => {
  assert.deepEqual(value(0.05, "share"), { text: "5", unit: "%" });
  assert.deepEqual(bytes(999), { text: "999", unit: "B" });
});
test("one step, two steps", () => {
  assert.equal(plural(1, "step"), "1 step");
  assert.equal(plural(2, "step"), "2 steps");
});
