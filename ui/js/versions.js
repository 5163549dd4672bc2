/** The versions of a skill: which there are, which were withdrawn, and what one of them is and changed. */

import { html, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { follow, link } from "./address.js";
import { get, linesOf, pathOf, post, textOf } from "./api.js";
import { forget } from "./catalog.js";
import { Compare } from "./compare.js";
import { Confirm } from "./form.js";
import { useLoaded } from "./loaded.js";
import { fileAt, filesAt } from "./paths.js";
import { useMayPublishTo } from "./service.js";
import { Notice } from "./states.js";
import { count, day, size, Text } from "./text.js";

const SHOWN = 12;
const MOST_HTML = 4 << 20;

/** Return the versions of a skill, newest first: `{version, made, yanked, size, checksum, description}`. */
export async function loadVersions(id, signal) {
  const lines = await linesOf(`/index/${pathOf(id)}`, signal);
  return lines.reverse().map(({ vers, published_at, yanked, size: bytes, cksum, metadata }) =>
    ({ version: vers, made: published_at, yanked, size: bytes, checksum: cksum, description: metadata.description }));
}

/** Return the files and the rendered text of one version: none of a record, which has neither. */
async function loadFiles(id, version, signal) {
  try {
    const [files, content] = await Promise.all([
      get(filesAt(id, version), signal),
      textOf(`${fileAt(id, "SKILL.md", version)}?format=html`, MOST_HTML, signal, "text/html"),
    ]);
    return { files, content };
  } catch (error) {
    if (error.status === 404) return { files: [], content: null };
    throw error;
  }
}

/** Use what is in a version: `{data: {files, content}}`, `{error}`, or `{}` on its way. `data` is null without a version. */
export function useVersion(id, version) {
  return useLoaded((signal) => (version ? loadFiles(id, version, signal) : Promise.resolve(null)), [id, version]);
}

function Yanked() {
  return html`<span class="badge risk-medium" title="Withdrawn: nobody gets it who does not ask for it">yanked</span>`;
}

export function Versions({ id, versions, shown }) {
  if (versions.length === 0) return null;
  const row = ({ version, made, yanked }) => {
    const changes = { skill: id, version };
    return html`<li key=${version}>
      <span><a href=${link(changes)} aria-current=${version === shown ? "true" : undefined}
        onClick=${(event) => follow(event, changes)}><${Text}>${version}<//></a> ${yanked && html`<${Yanked} />`}</span>
      <time class="number" datetime=${made}>${day(made)}</time></li>`;
  };
  return html`<section>
    <h2>${count(versions.length, "version")}</h2>
    <ul class="files">${versions.slice(0, SHOWN).map(row)}</ul>
    ${versions.length > SHOWN && html`<details class="older"><summary>${versions.length - SHOWN} older</summary>
      <ul class="files">${versions.slice(SHOWN).map(row)}</ul></details>`}
  </section>`;
}

/** Withdraw a published version, or list it again. */
function Withdraw({ id, version, isYanked, onChanged }) {
  const [isAsking, setAsking] = useState(false);
  const mayChange = useMayPublishTo(id);
  if (!mayChange) return null;
  const word = isYanked ? "List again" : "Yank";
  const send = async () => {
    await post(`/api/v1/registry/skills/${pathOf(id)}/${encodeURIComponent(version)}/${isYanked ? "unyank" : "yank"}`);
    forget();
    setAsking(false);
    onChanged();
  };
  return html`<button class="quiet" onClick=${() => setAsking(true)}>${word}</button>
    ${isAsking && html`<${Confirm} title=${`${word} this version?`} word=${word} send=${send} onClose=${() => setAsking(false)}>
      <p><strong><${Text}>${`${id} ${version}`}<//></strong></p>
      <p>${isYanked ? "Lists and search show it again." : "It leaves lists and search. Who asks for exactly this version still gets it."}</p><//>`}`;
}

/** What one version is, and what it changed. */
export function Version({ skill, versions, version, from, onChanged }) {
  const path = `/api/v1/skills/${pathOf(skill.id)}/versions/${encodeURIComponent(version)}`;
  const place = versions.findIndex((one) => one.version === version);
  const facts = versions[place];
  const isListed = Boolean(facts) && !facts.yanked; // the catalog has no others
  const { data } = useLoaded((signal) => (isListed ? get(path, signal) : Promise.resolve(null)), [path, isListed]);
  if (!facts) return html`<${Notice} title="There is no such version">Skill <code><${Text}>${skill.id}<//></code> has no version <${Text}>${version}<//>.<//>`;
  const before = from || versions[place + 1]?.version; // of the first version there is nothing to compare
  const changes = data?.changes ?? [];
  return html`<section class="version-page" aria-label="Version">
    <div class="head"><h2>Version <${Text}>${version}<//></h2> ${facts.yanked && html`<${Yanked} />`}
      ${version === skill.version && html`<span class="badge">current</span>`}
      ${facts.size !== null && html`<${Withdraw} id=${skill.id} version=${version} isYanked=${facts.yanked} onChanged=${onChanged} />`}</div>
    <p class="facts"><time datetime=${facts.made}>${day(facts.made)}</time>
      ${facts.size !== null && html`<span>${size(facts.size)}</span>`}
      ${facts.checksum && html`<code class="digest"><${Text}>${facts.checksum}<//></code>`}</p>
    ${facts.description !== skill.description && html`<p><${Text}>${facts.description}<//></p>`}
    ${changes.length > 0 && html`<ul class="notes">${changes.map((change) => html`<li><${Text}>${change}<//></li>`)}</ul>`}
    ${before && facts.size !== null && html`<${Compare} id=${skill.id} versions=${versions} version=${version} from=${before} />`}
  </section>`;
}
