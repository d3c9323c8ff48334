/** The cards of a name that a person typed and the run logged under another one. */

/** @typedef {import("../../state.js").MetricInfo} MetricInfo */
/** @typedef {import("./card-section.js").Section} Section */
/** @typedef {import("../../wire/types.gen.js").FoundList} Asked */

/** The metric that a name means if the run logged it under another one, with the asked name and in
 * its unit.
 * @param {MetricInfo[]} all @param {Asked} asked @returns {Section[]} */
export function askedSection(all, asked) {
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
