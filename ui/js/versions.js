/** The versions of a skill: which there are, which were withdrawn, and what is in one of them. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { follow, link } from "./address.js";
import { get, pathOf, textOf } from "./api.js";
import { useLoaded } from "./loaded.js";
import { fileAt, filesAt } from "./paths.js";
import { count, day, Text } from "./text.js";
import { WithdrawnMark } from "./withdrawn.js";

const SHOWN = 12;
const MOST_HTML = 4 << 20;

/** Return the files, the rendered text and the findings of one version: none of a record, which has none of them. */
async function loadFiles(id, version, signal) {
  try {
    const [files, content, findings] = await Promise.all([
      get(filesAt(id, version), signal),
      textOf(`${fileAt(id, "SKILL.md", version)}?format=html`, MOST_HTML, signal, "text/html"),
      get(`/api/v1/skills/${pathOf(id)}/versions/${encodeURIComponent(version)}/findings`, signal),
    ]);
    return { files, content, findings };
  } catch (error) {
    if (error.status === 404) return { files: [], content: null, findings: null };
    throw error;
  }
}

/** Use what is in a version: `{data: {files, content, findings}}`, `{error}`, or `{}` on its way. `data` is null without a version. */
export function useVersion(id, version) {
  return useLoaded((signal) => (version ? loadFiles(id, version, signal) : Promise.resolve(null)), [id, version]);
}

export function Versions({ id, versions, shown }) {
  if (versions.length === 0) return null;
  const row = ({ version, published_at: made, yanked, withdrawn }) => {
    const changes = { skill: id, version };
    return html`<li key=${version}>
      <span><a href=${link(changes)} aria-current=${version === shown ? "true" : undefined}
        onClick=${(event) => follow(event, changes)}><${Text}>${version}<//></a> ${yanked && html`<${WithdrawnMark} withdrawn=${withdrawn} />`}</span>
      <time class="number" datetime=${made}>${day(made)}</time></li>`;
  };
  return html`<section>
    <h2>${count(versions.length, "version")}</h2>
    <ul class="files">${versions.slice(0, SHOWN).map(row)}</ul>
    ${versions.length > SHOWN && html`<details class="older"><summary>${versions.length - SHOWN} older</summary>
      <ul class="files">${versions.slice(SHOWN).map(row)}</ul></details>`}
  </section>`;
}
