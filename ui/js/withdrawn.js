/** How the registry of a skill has withdrawn it: a mark in lists, and a banner with the reason where it is shown. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { day, Text } from "./text.js";

const STATES = {
  deprecated: { risk: "low", means: "Its publisher advises against it" },
  yanked: { risk: "medium", means: "Withdrawn: nobody gets it who does not ask for it" },
  revoked: { risk: "high", means: "Withdrawn for ever: its package is refused" },
};

/** Return whether a version was revoked: nobody gets its files any more. */
export const isRevoked = (version) => version?.withdrawn?.state === "revoked";

/** The mark of a withdrawn version or skill. A version of an older registry may say only that it is yanked. */
export function WithdrawnMark({ withdrawn }) {
  const state = STATES[withdrawn?.state] ? withdrawn.state : "yanked";
  return html`<span class=${`badge risk-${STATES[state].risk}`} title=${STATES[state].means}>${state}</span>`;
}

/** What is withdrawn, when, why, and what to use instead; nothing if nothing is. */
export function WithdrawnBanner({ withdrawn, version }) {
  if (!withdrawn) return null;
  const subject = withdrawn.state === "deprecated" ? "This skill" : `Version ${version}`;
  return html`<div class="withdrawn" role="note">
    <p><strong><${Text}>${subject}<//> was ${STATES[withdrawn.state] ? withdrawn.state : "withdrawn"}</strong>
      ${" on "}<time datetime=${withdrawn.at}>${day(withdrawn.at)}</time>${withdrawn.reason ? html`: <${Text}>${withdrawn.reason}<//>` : "."}</p>
    ${withdrawn.replacement && html`<p>Use <code><${Text}>${withdrawn.replacement}<//></code> instead.</p>`}
  </div>`;
}
