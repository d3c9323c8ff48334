/** The cards of a name that a person typed and the run logged under another one. */

import { get, part } from "../../wire/api.js";

/** @typedef {import("../../state.js").MetricInfo} MetricInfo */
/** @typedef {import("./card-section.js").Section} Section */
/** @typedef {import("../../wire/types.gen.js").FoundList} Asked */

const PAUSE = 120; // ms without a key press before the server is asked

/** What a typed name of one word means in a run, and what there is to say of it.
 * @param {string} run @param {string} q @param {MetricInfo[]} all @param {AbortSignal} abort
 * @returns {Promise<{sections: Section[], says: string}>} */
export async function meant(run, q, all, abort) {
  const name = q.trim();
  await new Promise((done) => setTimeout(done, PAUSE));
  if (abort.aborted || !name || /\s/.test(name)) return { sections: [], says: "" };
  const asked = await get(`runs/${part(run)}/find?name=${part(name)}`, abort);
  return { sections: askedSection(all, asked), says: asked.says ?? "" };
}

/** The metric that a name means if the run logged it under another one, with the asked name and in
 * its unit.
 * @param {MetricInfo[]} all @param {Asked} asked @returns {Section[]} */
function askedSection(all, asked) {
  const metrics = asked.found.flatMap((one) => {
    const info = all.find((m) => m.name === one.stored);
    return info && one.stored !== one.asked ? [askedInfo(info, one)] : [];
  });
  if (!metrics.length) return [];
  const says = [...new Set(asked.found.flatMap((one) => [one.why, one.warning].filter(Boolean)))].join(". ");
  const groups = [{ group: "", metrics }];
  return [{ section: "asked", title: asked.asked, groups, count: metrics.length, says }];
}

/** @param {MetricInfo} info @param {Asked["found"][0]} one @returns {MetricInfo} */
function askedInfo(info, one) {
  const scaled = (/** @type {(number | null)[]} */ pair) => pair.map((v) => (v === null ? v : v * one.scale));
  const [range, healthy] = [scaled(info.range), scaled(info.healthy)];
  return { ...info, name: one.asked, title: "", unit: one.unit, range, healthy, differs: one.warning, heat: false };
}
