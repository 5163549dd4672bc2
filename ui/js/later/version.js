/** The page of a version: what it is, what it changed, and withdrawing it. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { get, pathOf, post } from "../api.js";
import { forget } from "../catalog.js";
import { useLoaded } from "../loaded.js";
import { useMayPublishTo } from "../service.js";
import { Notice } from "../states.js";
import { day, size, Text } from "../text.js";
import { WithdrawnBanner, WithdrawnMark } from "../withdrawn.js";
import { Compare } from "./compare.js";
import { Ask, Confirm } from "./form.js";

const NOTE = [
  { name: "reason", label: "Reason", maxlength: 500, hint: "In one line. All who have installed it see it." },
  { name: "replacement", label: "Use instead", maxlength: 250, placeholder: "scope/name@^1.2" },
];

/** Withdraw a published version, or list it again. */
function Withdraw({ id, version, isYanked, onChanged }) {
  const [isAsking, setAsking] = useState(false);
  const mayChange = useMayPublishTo(id);
  if (!mayChange) return null;
  const word = isYanked ? "List again" : "Yank";
  const send = async (note) => {
    await post(`/api/v1/registry/skills/${pathOf(id)}/${encodeURIComponent(version)}/${isYanked ? "unyank" : "yank"}`, note);
    forget();
    setAsking(false);
    onChanged();
  };
  const about = { title: `${word} this version?`, word, send, onClose: () => setAsking(false) };
  const named = html`<p><strong><${Text}>${`${id} ${version}`}<//></strong></p>`;
  return html`<button class="quiet" onClick=${() => setAsking(true)}>${word}</button>
    ${isAsking && (isYanked
      ? html`<${Confirm} ...${about}>${named}<p>Lists and search show it again.</p><//>`
      : html`<${Ask} ...${about} fields=${NOTE}>${named}<p>It leaves lists and search. Who asks for exactly this version still gets it.</p><//>`)}`;
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
    <div class="head"><h2>Version <${Text}>${version}<//></h2> ${facts.yanked && html`<${WithdrawnMark} withdrawn=${facts.withdrawn} />`}
      ${version === skill.version && html`<span class="badge">current</span>`}
      ${facts.size !== null && html`<${Withdraw} id=${skill.id} version=${version} isYanked=${facts.yanked} onChanged=${onChanged} />`}</div>
    <${WithdrawnBanner} withdrawn=${facts.withdrawn} version=${version} />
    <p class="facts"><time datetime=${facts.made}>${day(facts.made)}</time>
      ${facts.size !== null && html`<span>${size(facts.size)}</span>`}
      ${facts.checksum && html`<code class="digest"><${Text}>${facts.checksum}<//></code>`}</p>
    ${facts.description !== skill.description && html`<p><${Text}>${facts.description}<//></p>`}
    ${changes.length > 0 && html`<ul class="notes">${changes.map((change) => html`<li><${Text}>${change}<//></li>`)}</ul>`}
    ${before && facts.size !== null && html`<${Compare} id=${skill.id} versions=${versions} version=${version} from=${before} />`}
  </section>`;
}
