/** What people say about samples: star, labels, comments and sets, read from the project log. */

/** @typedef {{id: string, text: string, author: string, time_ns: number}} Comment */
/** @typedef {{star: boolean, labels: string[], comments: Comment[], sets: string[]}} Marks */
/** @typedef {{value?: any, author: string, time_ns: number}} Entry */

/** The filter words about marks. */
export const MARK_WORDS = ["star", "label", "comment", "set", "marked"];
/** @type {Marks} */
export const NO_MARKS = { star: false, labels: [], comments: [], sets: [] };

/** The first words of a name and the rest, which may hold a slash.
 * @param {string} name @param {number} parts */
function split(name, parts) {
  const words = name.split("/");
  return [...words.slice(0, parts - 1), words.slice(parts - 1).join("/")];
}

/** Sample id -> what is said about it in a run.
 * @param {(kind: string) => Record<string, Entry>} entries those that hold, by name
 * @param {string} run @returns {Map<string, Marks>} */
export function marksOf(entries, run) {
  /** @type {Map<string, Marks>} */
  const out = new Map();
  const of = (/** @type {string} */ id) => {
    const known = out.get(id) ?? { star: false, labels: [], comments: [], sets: [] };
    out.set(id, known);
    return known;
  };
  for (const [name, { value }] of Object.entries(entries("star"))) {
    const [r, id = ""] = split(name, 2);
    if (r === run && value === true) of(id).star = true;
  }
  for (const [name, { value }] of Object.entries(entries("label"))) {
    const [r, label = "", id = ""] = split(name, 3);
    if (r === run && value === true) of(id).labels.push(label);
  }
  for (const [name, { value }] of Object.entries(entries("set"))) {
    const [set = "", r, id = ""] = split(name, 3);
    if (r === run && value === true) of(id).sets.push(set);
  }
  for (const [name, { value, author, time_ns }] of Object.entries(entries("comment"))) {
    const [r, comment = "", id = ""] = split(name, 3);
    if (r === run) of(id).comments.push({ id: comment, text: String(value), author, time_ns });
  }
  return out;
}

/** Name of a set -> how many samples it has, over all runs, by name.
 * @param {Record<string, Entry>} entries @returns {Map<string, number>} */
export function setsOf(entries) {
  /** @type {Map<string, number>} */
  const out = new Map();
  for (const [name, { value }] of Object.entries(entries)) {
    const set = name.split("/")[0] ?? "";
    if (value === true) out.set(set, (out.get(set) ?? 0) + 1);
  }
  return new Map([...out].sort(([a], [b]) => a.localeCompare(b)));
}

/** The texts that a filter word about marks looks at: yes or no, or each mark, or "" if none.
 * @param {Marks | undefined} marks @param {string} field @returns {string[]} */
export function markTexts(marks, field) {
  if (field === "marked") return [marks ? "yes" : "no"];
  if (field === "star") return [marks?.star ? "yes" : "no"];
  const list =
    field === "comment" ? marks?.comments.map((c) => c.text) : field === "label" ? marks?.labels : marks?.sets;
  return list?.length ? list : [""];
}

/** Why a text cannot be a label or a set's name; "" if it can. @param {string} text */
export function problemOf(text) {
  if (!text.trim()) return "Type a word.";
  if (text.includes("/")) return "It cannot hold a slash.";
  return text.length > 200 ? "It is longer than 200 characters." : "";
}
