/** Open the selected runs side by side. */

import { href, picked, visit } from "../state.js";

export function compare() {
  const [first, ...rest] = picked.value;
  const blank = { q: "", sort: "", cols: "", by: "", show: "", view: "" };
  if (first && rest.length) visit(href({ ...blank, page: "compare", run: first, runs: rest }));
}
