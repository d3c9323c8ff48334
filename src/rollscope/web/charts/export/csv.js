/** The points of charts as CSV: exactly what is on the screen, every series, run and range. */

/** @typedef {import("../../base/chart/points.js").Series} Series */

/** One line per point: metric, run, x, mean, min, max, last, count.
 * @param {Series[]} all @param {string} x the axis that is shown */
export function csvOf(all, x) {
  const lines = [["metric", "run", x, "mean", "min", "max", "last"].join(",")];
  for (const s of all) {
    const [name, run] = [cell(s.name), cell(s.run)];
    for (let i = 0; i < s.X.length; i++) {
      const numbers = [s.X[i], s.Mid[i], s.Lo[i], s.Hi[i], s.Last[i]];
      if (numbers[1] === null) continue; // a gap
      lines.push([name, run, ...numbers.map((v) => (v === null || v === undefined ? "" : String(v)))].join(","));
    }
  }
  return `${lines.join("\n")}\n`;
}

/** A text as a cell; one that a spreadsheet would run as a formula is quoted as text.
 * @param {string} text */
export function cell(text) {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
