/** The versions of a skill: which there are, which were withdrawn, and what one of them changed. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { follow, link } from "./address.js";
import { get, linesOf, pathOf } from "./api.js";
import { useLoaded } from "./loaded.js";
import { Failure } from "./states.js";
import { count, day, Text } from "./text.js";

/** Return the versions of a skill, newest first, each with `yanked`. */
export async function loadVersions(id, signal) {
  const [versions, lines] = await Promise.all([
    get(`/api/v1/skills/${pathOf(id)}/versions?limit=100`, signal),
    linesOf(`/index/${pathOf(id)}`, signal).catch(() => []),
  ]);
  const yanked = new Set(lines.filter((line) => line.yanked).map((line) => line.vers));
  return versions.map((version) => ({ ...version, yanked: yanked.has(version.version) }));
}

export function Versions({ id, versions, shown }) {
  if (versions.length === 0) return null;
  return html`<section>
    <h2>${count(versions.length, "version")}</h2>
    <ul class="files">
      ${versions.map(({ version, created_at: made, yanked }) => {
        const changes = { skill: id, version };
        return html`<li key=${version}>
          <span><a href=${link(changes)} aria-current=${version === shown ? "true" : undefined}
            onClick=${(event) => follow(event, changes)}><${Text}>${version}<//></a>
            ${yanked && html` <span class="badge risk-medium" title="Withdrawn: nobody gets it who does not ask for it">yanked</span>`}</span>
          <time class="number" datetime=${made}>${day(made)}</time></li>`;
      })}
    </ul>
  </section>`;
}

/** What is known of one version that the address names. */
export function Version({ skill, version }) {
  const path = `/api/v1/skills/${pathOf(skill.id)}/versions/${encodeURIComponent(version)}`;
  const { data, error, again } = useLoaded((signal) => get(path, signal), [path]);
  const current = { skill: skill.id };
  return html`<section class="version-page" aria-label="Version">
    <h2>Version <${Text}>${version}<//></h2>
    ${error && html`<${Failure} error=${error} onRetry=${error.status === 404 ? undefined : again} what="There is no such version" />`}
    ${data && html`<p class="facts">${day(data.created_at)}</p>
      <p><${Text}>${data.description}<//></p>
      ${data.changes.length > 0 && html`<ul>${data.changes.map((change) => html`<li><${Text}>${change}<//></li>`)}</ul>`}`}
    ${version !== skill.version && html`<p>The text below is that of the current version,
      <a href=${link(current)} onClick=${(event) => follow(event, current)}> <${Text}>${skill.version}<//></a>.</p>`}
  </section>`;
}
