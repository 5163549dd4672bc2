/** One skill in a list: what it is, where it is from, how it stands, and why it was found. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { Action, useStanding } from "./actions.js";
import { address, CLEARED, follow, link } from "./address.js";
import { CopyButton } from "./copy-line.js";
import { tellChosen } from "./feedback.js";
import { Explanation } from "./explanation.js";
import { installCommand, isPublished, isRecord } from "./package.js";
import { service } from "./service.js";
import { count, day, Passage, Text } from "./text.js";
import { WithdrawnMark } from "./withdrawn.js";

const SHOWN_TAGS = 4;
const RISK_MEANS = {
  none: "Nothing dangerous or hidden was found in its texts",
  low: "Its texts hold something worth a look",
  waived: "An administrator says that what was found does no harm",
  medium: "Its texts hold something that could do harm",
  high: "Its texts hold something dangerous or hidden",
};

/** The risk. It leads to the heading with the id `leadsTo`, if there is one. */
export function Risk({ risk, leadsTo = "" }) {
  if (!risk) return html`<span class="badge" title="Its texts have not been scanned">not checked</span>`;
  const text = { none: "no findings", waived: "risk waived" }[risk] ?? `${risk} risk`;
  const lead = (event) => {
    event.preventDefault(); // the address of the page does not change
    document.getElementById(leadsTo).focus();
  };
  if (leadsTo) return html`<a class=${`badge risk-${risk}`} title=${RISK_MEANS[risk]} href=${`#${leadsTo}`} onClick=${lead}>${text}</a>`;
  return html`<span class=${`badge risk-${risk}`} title=${RISK_MEANS[risk]}>${text}</span>`;
}

const MATCHES = {
  high: ["close match", "Its words and its meaning are what is asked for"],
  medium: ["may not fit", "It is about something near: read it before you use it"],
  low: ["weak match", "Any query finds something like this"],
};

/** How well a hit fits. By words alone nobody can say. Where no hit is close, the line above the list says so once. */
function Match({ relevance, isGraded }) {
  const [text, means] = (relevance === "medium" && !isGraded ? null : MATCHES[relevance]) ?? [];
  return text && html`<span class=${`badge match ${relevance}`} title=${means}>${text}</span>`;
}

export function Severity({ of }) {
  return html`<span class=${`badge risk-${of}`}>${of === "none" ? "note" : of}</span>`;
}

export function Standing({ skill }) {
  const { installed, gone } = useStanding(skill);
  const status = service.use();
  if (gone) return html`<span class="badge">removed</span>`;
  if (installed) return html`<span class="badge installed">installed</span>`;
  if (isRecord(skill, status)) return html`<span class="badge" title="Described here, without a package to install">record</span>`;
  return html`<span class="badge">available</span>`;
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

/** Return the id where it says more than the name. */
export function ownId({ id, name }) {
  const bare = id.slice(id.lastIndexOf("/") + 1);
  return bare === name || bare === name.toLowerCase().replaceAll(/[\s_]+/g, "-") ? id.slice(0, -bare.length - 1) : id;
}

/** The id of a card. That of a published skill begins with its scope, which leads to the others of it. */
function OwnId({ skill, id }) {
  const scope = isPublished(skill, service.use()) ? skill.id.split("/")[0] : "";
  if (!scope) return html`<code class="number"><${Text}>${id}<//></code>`;
  const changes = { ...CLEARED, q: "", view: "skills", scope };
  return html`<code class="number"><a href=${link(changes)} onClick=${(event) => follow(event, changes)}
    title=${`All skills of ${scope}`}><${Text}>${scope}<//></a>${id !== scope && html`<${Text}>${id.slice(scope.length)}<//>`}</code>`;
}

/** What is special about a skill: what all have in common is not said. */
function Marks({ skill, isMixed }) {
  const { installed, gone } = useStanding(skill);
  return html`
    ${gone && html`<span class="badge">removed</span>`}
    ${!gone && installed && isMixed && html`<span class="badge installed">installed</span>`}
    ${isRecord(skill, service.use()) && html`<span class="badge" title="Described here, without a package to install">record</span>`}
    ${skill.withdrawn && html`<${WithdrawnMark} withdrawn=${skill.withdrawn} />`}
    ${skill.findings && skill.findings !== "none" && html`<${Risk} risk=${skill.findings} />`}
    ${!skill.enabled && html`<span class="badge">disabled</span>`}`;
}

function Described({ skill, snippet }) {
  if (snippet?.field === "description") {
    return html`<p class="description"><${Passage} ...${snippet} /></p>`;
  }
  return html`<p class=${snippet ? "description short" : "description"}><${Text}>${skill.description}<//></p>
    ${snippet && html`<p class="passage"><${Passage} ...${snippet} /></p>`}`;
}

function Facts({ skill, isMixed }) {
  const version = skill.version === "1.0.0" ? "" : `v${skill.version}`; // what a skill without a version is given
  const texts = [isMixed && skill.source !== "local" && skill.source, skill.author, version, skill.license].filter(Boolean);
  return html`<span class="facts">
    ${texts.map((text, index) => html`<span key=${index}><${Text}>${text}<//></span>`)}
    ${skill.uses_30d && html`<span title="In the last 30 days">${count(skill.uses_30d, "use")}</span>`}
    <time datetime=${skill.updated_at}>${day(skill.updated_at)}</time>
  </span>`;
}

/** A button that copies the command which installs a published skill elsewhere. */
function CopyCommand({ skill }) {
  const status = service.use();
  const { installed, gone } = useStanding(skill);
  if (!isPublished(skill, status) || installed || gone) return null;
  return html`<${CopyButton} text=${installCommand(skill, status)} name=${`install ${skill.id}`} word="Copy command"
    onCopy=${() => tellChosen(skill.id)} />`;
}

/** The near-copies that share the place of a hit. */
function Copies({ count, ids }) {
  return html`<details class="explanation">
    <summary>and ${count} like it</summary>
    <ul aria-label="Near-copies">${ids.map((id) => {
      const open = { skill: id };
      return html`<li key=${id}><a href=${link(open, address.get())} onClick=${(event) => follow(event, open)}><${Text}>${id}<//></a></li>`;
    })}${count > ids.length && html`<li>${count - ids.length} more</li>`}</ul>
  </details>`;
}

export function Card({ hit, isMixed, isGraded }) {
  const { skill, relevance, snippet, explain, grouped } = hit;
  const open = { skill: skill.id };
  const id = ownId(skill);
  return html`<article class=${`card ${relevance ?? ""}`}>
    <div class="what">
      <div class="head">
        <h2><a class="open" href=${link(open, address.get())} onClick=${(event) => follow(event, open)}>
          <${Text}>${skill.name}<//></a></h2>
        ${id && html`<${OwnId} skill=${skill} id=${id} />`}
        <${Match} relevance=${relevance} isGraded=${isGraded} />
        <${Marks} skill=${skill} isMixed=${isMixed} />
      </div>
      <${Described} skill=${skill} snippet=${snippet} />
      <div class="foot">
        <${Labels} labels=${skill.tags.slice(0, SHOWN_TAGS)} field="tag" name="Tags" />
        <${Facts} skill=${skill} isMixed=${isMixed} />
        ${grouped && html`<${Copies} ...${grouped} />`}
        ${explain && html`<${Explanation} id=${skill.id} explain=${explain} />`}
      </div>
    </div>
    <${Action} skill=${skill} /><${CopyCommand} skill=${skill} />
  </article>`;
}
