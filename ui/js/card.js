/** One skill in a list: what it is, where it is from, how it stands, and why it was found. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { Action, useStanding } from "./actions.js";
import { address, follow, link } from "./address.js";
import { Line } from "./copy-line.js";
import { Explanation } from "./explanation.js";
import { installCommand, isPublished, isRecord } from "./package.js";
import { service } from "./service.js";
import { day, Text } from "./text.js";

const REASONS = { name: "name", keyword: "words", semantic: "meaning" };
const RELEVANCE = {
  high: "High relevance",
  medium: "Medium relevance",
  low: "Low relevance",
  keyword: "Matched",
};
const RISK_MEANS = {
  none: "Nothing dangerous or hidden was found in its texts",
  low: "Its texts hold something worth a look",
  medium: "Its texts hold something that could do harm",
  high: "Its texts hold something dangerous or hidden",
};

export function Risk({ risk }) {
  if (!risk) return html`<span class="badge" title="Its texts have not been scanned">not checked</span>`;
  const text = risk === "none" ? "no findings" : `${risk} risk`;
  return html`<span class=${`badge risk-${risk}`} title=${RISK_MEANS[risk]}>${text}</span>`;
}

export function Standing({ skill }) {
  const { installed, gone } = useStanding(skill);
  const status = service.use();
  if (gone) return html`<span class="badge">removed</span>`;
  if (installed) return html`<span class="badge installed">installed</span>`;
  if (isRecord(skill, status)) return html`<span class="badge" title="Described here, without a package to install">record</span>`;
  return html`<span class="badge">available</span>`;
}

function Reasons({ relevance, reasons }) {
  if (!relevance) return null;
  const text = reasons.map((reason) => REASONS[reason] ?? reason).join(", ");
  return html`<p class="why">
    <span class=${`relevance ${relevance}`}>${RELEVANCE[relevance] ?? relevance}</span>
    ${text && html`<span>${relevance === "keyword" ? "" : ","} by ${text}</span>`}
  </p>`;
}

/** The labels of a skill; each leads to the skills that have it. */
export function Labels({ labels, field, name }) {
  if (labels.length === 0) return null;
  return html`<ul class=${`labels ${field}`} aria-label=${name}>
    ${labels.map((label) => {
      const changes = { [field]: [label.toLowerCase()], skill: "", file: "" };
      return html`<li key=${label}>
        <a href=${link(changes)} onClick=${(event) => follow(event, changes)}><${Text}>${label}<//></a>
      </li>`;
    })}
  </ul>`;
}

/** The command that installs a published skill elsewhere, in place of a button that could install it only here. */
export function InstallLine({ skill }) {
  const status = service.use();
  const { installed, gone } = useStanding(skill);
  if (!isPublished(skill, status) || installed || gone) return null;
  return html`<${Line} name=${`install ${skill.id}`} text=${installCommand(skill, status)} isBare />`;
}

export function Card({ hit }) {
  const { skill, relevance, matched_by: reasons, explain } = hit;
  const open = { skill: skill.id };
  return html`<article class="card">
    <div class="what">
      <div class="head">
        <h3><a class="open" href=${link(open, address.get())} onClick=${(event) => follow(event, open)}>
          <${Text}>${skill.name}<//></a></h3>
        <span class="version"><${Text}>${skill.version}<//></span>
        <${Standing} skill=${skill} />
        <${Risk} risk=${skill.findings} />
        ${!skill.enabled && html`<span class="badge">disabled</span>`}
      </div>
      <${Reasons} relevance=${relevance} reasons=${reasons} />
      <p class="description"><${Text}>${skill.description}<//></p>
      <${Labels} labels=${skill.tags} field="tag" name="Tags" />
      <${Labels} labels=${skill.capabilities} field="capability" name="Capabilities" />
      <p class="facts">
        <code><${Text}>${skill.id}<//></code>
        <span>from <${Text}>${skill.source}<//></span>
        ${skill.author && html`<span>by <${Text}>${skill.author}<//></span>`}
        ${skill.license && html`<span><${Text}>${skill.license}<//></span>`}
        <time datetime=${skill.updated_at}>${day(skill.updated_at)}</time>
      </p>
      ${explain && html`<${Explanation} id=${skill.id} explain=${explain} />`}
      <${InstallLine} skill=${skill} />
    </div>
    <${Action} skill=${skill} />
  </article>`;
}
