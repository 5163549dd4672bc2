/** What became of a search: the service learns from the skills that people choose. */

import { post } from "./api.js";

/** The id of the last search that showed a skill, by the id of the skill. */
const shown = new Map();

/** Note what a search shows. Without `search_id`, the service does not learn. */
export function noteShown({ search_id: search, skills }) {
  if (!search) return;
  for (const { skill, grouped } of skills) {
    for (const id of [skill.id, ...(grouped?.ids ?? [])]) shown.set(id, search);
  }
}

/** Say that somebody chose a skill. Only one that a search has shown counts. */
export async function tellChosen(id) {
  const search = shown.get(id);
  if (!search) return;
  const body = { search_id: search, skill_id: id, outcome: "chosen" };
  await post("/api/v1/search/feedback", body).catch(() => {}); // nothing of the page depends on it
}
