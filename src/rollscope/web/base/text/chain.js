/** Findings as chains: a cause, then what follows from it, in the order in which they began. */

/** What a chain needs of a finding.
 * @typedef {{rule: string, step: number, cause: string}} Told */
/** A finding, and how far down its chain it stands.
 * @template F @typedef {{f: F, depth: number}} Link */

/** Chains of findings; the first of each is the cause. The order of the causes is kept.
 * @template {Told} F @param {F[]} findings @returns {Link<F>[][]} */
export function chains(findings) {
  const rules = new Set(findings.map((f) => f.rule));
  const isCause = (/** @type {F} */ f) => !f.cause || f.cause === f.rule || !rules.has(f.cause);
  /** @type {Set<F>} */
  const told = new Set();
  const found = findings.filter(isCause).map((f) => links(f, findings, told, 0));
  const left = findings.filter((f) => !told.has(f)); // causes of each other
  return [...found, ...left.map((f) => [{ f, depth: 0 }])];
}

/** @template {Told} F @param {F} f @param {F[]} all @param {Set<F>} told @param {number} depth
 * @returns {Link<F>[]} */
function links(f, all, told, depth) {
  told.add(f);
  const follows = all.filter((x) => x.cause === f.rule && !told.has(x)).sort((a, b) => a.step - b.step);
  return [{ f, depth }, ...follows.flatMap((x) => (told.has(x) ? [] : links(x, all, told, depth + 1)))];
}

const NUMBERS = ["No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine"];

/** What to do first, in a sentence. @param {Link<any>[][]} all */
export function summary(all) {
  const total = all.reduce((n, chain) => n + chain.length, 0);
  const word = (/** @type {number} */ n) => NUMBERS[n] ?? String(n);
  const findings = `${word(total)} finding${total === 1 ? "" : "s"}`;
  if (all.length === total) return total === 1 ? "One finding." : `${findings}, none of which explains another.`;
  const causes = `${word(all.length).toLowerCase()} cause${all.length === 1 ? "" : "s"}`;
  const first = /** @type {Link<any>[]} */ (all[0]).length - 1;
  const rest = first === 1 ? "the one that follows" : `the ${word(first).toLowerCase()} that follow`;
  return `${findings}, ${causes}. Mend the first${first ? `; ${rest} should go with it` : ""}.`;
}
