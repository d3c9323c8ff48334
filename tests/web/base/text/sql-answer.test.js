import assert from "node:assert/strict";
import test from "node:test";
import {
  cells,
  chartable,
  choiceOf,
  csv,
  drawn,
  writtenChoice,
} from "../../../../src/rollscope/web/base/text/sql-answer.js";

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
  const choice = choiceOf(answer, "");
  assert.deepEqual(choice, { kind: "line", x: 0, y: 2, by: -1 });
  assert.deepEqual(drawn(answer, choice), [
    {
      name: "",
      points: [
        [1, 0.25],
        [2, 0.5],
      ],
    },
  ]);
  assert.equal(chartable({ ...answer, rows: answer.rows.slice(0, 2) }), null);
});

test("a choice comes from the address where it fits the answer, and goes back into it", () => {
  const bars = choiceOf(answer, "bar,1,2,0");
  assert.deepEqual(bars, { kind: "bar", x: 1, y: 2, by: 0 });
  assert.equal(writtenChoice(bars), "bar,1,2,0");
  for (const wrong of ["pie,0,2,1", "line,1,2,0", "bar,1,1,0", "bar,9,2", "scatter", "line,0,,"])
    assert.deepEqual(choiceOf(answer, wrong), choiceOf(answer, ""), wrong);
  assert.equal(choiceOf(answer, "scatter,0,2,77")?.by, -1);
});

test("a column splits an answer into series, in the order they come", () => {
  const split = drawn(answer, { kind: "scatter", x: 0, y: 2, by: 1 });
  assert.deepEqual(
    split.map((one) => one.name),
    ['a "quote", and\na line', "–"],
  );
});

test("words and a number make bars", () => {
  const named = {
    columns: [answer.columns[1], answer.columns[2]],
    rows: [
      ["a", 2],
      ["b", 1],
      [null, 3],
    ],
  };
  const choice = choiceOf(named, "");
  assert.deepEqual(choice, { kind: "bar", x: 0, y: 1, by: -1 });
  assert.deepEqual(drawn(named, choice)[0]?.points, [
    ["a", 2],
    ["b", 1],
    ["–", 3],
  ]);
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
