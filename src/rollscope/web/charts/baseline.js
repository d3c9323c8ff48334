/** Finds the baseline of the project where charts show several runs. */

import { effect } from "@preact/signals";
import { run, view } from "../state.js";
import { entries, held, loadProject } from "../wire/project.js";
import { baseline } from "../wire/series.js";

effect(() => {
  const { project } = run.value ?? {};
  if (!view.value.runs.length || project === undefined) return;
  if (held.value) baseline.value = String(entries("baseline")[project]?.value ?? "");
  else loadProject().catch(() => {}); // without a log of the project there is no baseline
});
