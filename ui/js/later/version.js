/** The page of a version: what it is, what it changed, and withdrawing it. */

import { html } from "../../vendor/htm-3.1.1/standalone.module.js";
import { get, pathOf } from "../api.js";
import { useLoaded } from "../loaded.js";
import { Notice } from "../states.js";
import { day, size, Text } from "../text.js";
import { isRevoked, WithdrawnBanner, WithdrawnMark } from "../withdrawn.js";
import { Compare } from "./compare.js";
import { WithdrawVersion } from "./withdraw.js";

/** What one version is, and what it changed. */
export function Version({ skill, versions, version, from, onChanged }) {
  const path = `/api/v1/skills/${pathOf(skill.id)}/versions/${encodeURIComponent(version)}`;
  const place = versions.findIndex((one) => one.version === version);
  const facts = versions[place];
  const isListed = Boolean(facts) && !facts.yanked; // the catalog has no others
  const { data } = useLoaded((signal) => (isListed ? get(path, signal) : Promise.resolve(null)), [path, isListed]);
  if (!facts) return html`<${Notice} title="There is no such version">Skill <code><${Text}>${skill.id}<//></code> has no version <${Text}>${version}<//>.<//>`;
  const others = versions.filter((one) => one !== facts && !isRevoked(one)); // nobody gets the files of a revoked one
  const before = from || versions.slice(place + 1).find((one) => others.includes(one))?.version;
  const changes = data?.changes ?? [];
  return html`<section class="version-page" aria-label="Version">
    <div class="head"><h2>Version <${Text}>${version}<//></h2> ${facts.yanked && html`<${WithdrawnMark} withdrawn=${facts.withdrawn} />`}
      ${version === skill.version && html`<span class="badge">current</span>`}
      ${facts.size !== null && html`<${WithdrawVersion} id=${skill.id} version=${version} isYanked=${facts.yanked} withdrawn=${facts.withdrawn} onChanged=${onChanged} />`}</div>
    <${WithdrawnBanner} withdrawn=${facts.withdrawn} version=${version} />
    <p class="facts"><time datetime=${facts.published_at}>${day(facts.published_at)}</time>
      ${facts.size !== null && html`<span>${size(facts.size)}</span>`}
      ${facts.checksum && html`<code class="digest"><${Text}>${facts.checksum}<//></code>`}</p>
    ${facts.description !== skill.description && html`<p><${Text}>${facts.description}<//></p>`}
    ${changes.length > 0 && html`<ul class="notes">${changes.map((change) => html`<li><${Text}>${change}<//></li>`)}</ul>`}
    ${before && facts.size !== null && !isRevoked(facts) && html`<${Compare} id=${skill.id} others=${others} version=${version} from=${before} />`}
  </section>`;
}
