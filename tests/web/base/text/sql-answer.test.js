import assert from "node:assert/strict";
import test from "node:test";
import { cells, chartable, csv, pairs } from "../../../../src/rollscope/web/base/text/sql-answer.js";

const answer = {
  columns: [
    { name: "step", type: "int64" },
    { name: "say", type: "string" },
    { name: "mean", type: "double" },
  ],
  rows: [
    [2, 'a "quote", and\na line', 0.5],
    [1, null, 0.25],
    [3, "x", "NaN"],
    [4, "y", null],
  ],
};

test("numbers are known by their type and the widest cell sets the column", () => {
  const [step, say] = cells(answer);
  assert.deepEqual([step?.numeric, say?.numeric], [true, false]);
  assert.ok((say?.width ?? 0) > (step?.width ?? 0));
  assert.equal(say?.shown(null), "–");
});

test("two columns of numbers make a chart, in the order of x, without what is no number", () => {
  assert.deepEqual(chartable(answer), [0, 2]);
  assert.deepEqual(pairs(answer, [0, 2]), [
    [1, 0.25],
    [2, 0.5],
  ]);
  assert.equal(chartable({ ...answer, rows: answer.rows.slice(0, 2) }), null);
});

test("CSV quotes what must be quoted, and no data is empty", () => {
  assert.equal(
    csv({ columns: answer.columns, rows: answer.rows.slice(0, 2) }),
    'step,say,mean\n2,"a ""quote"", and\na line",0.5\n1,,0.25\n',
  );
});

test("CSV has no cell that a spreadsheet runs, and numbers stay as they are", () => {
  const rows = [
    ["=1+1", -0.5],
    ["-5", 1],
    ["'=x", 2],
    ["@sum", 3],
    ["a=b", 4],
  ];
  assert.equal(
    csv({
      columns: [
        { name: "+name", type: "string" },
        { name: "n", type: "double" },
      ],
      rows,
    }),
    "'+name,n\n'=1+1,-0.5\n-5,1\n''=x,2\n'@sum,3\na=b,4\n",
  );
});
