/** What changed at its origin since a skill was installed, and taking it over. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { post } from "../api.js";
import { problem } from "../states.js";
import { count, Text } from "../text.js";

const ROUTE = "/api/v1/skills/upgrade";
const WORDS = { added: "Added", removed: "Removed", changed: "Changed" };
const SHOWN = 20;

function Changes({ changes }) {
  const all = Object.keys(WORDS).flatMap((kind) => changes[kind].map((path) => [kind, path]));
  return html`<ul class="changes">${all.slice(0, SHOWN).map(([kind, path]) => html`<li key=${kind + path} class="change">
      <span class=${`badge change-${kind}`}>${WORDS[kind]}</span><code><${Text}>${path}<//></code></li>`)}</ul>
    ${all.length > SHOWN && html`<p class="facts">${count(all.length - SHOWN, "more file")}</p>`}`;
}

function told({ outcome, reason, resolved_version: version }) {
  if (outcome === "would_update") return `Version ${version} is there.`;
  if (outcome === "updated") return `Upgraded to ${version}.`;
  return outcome === "up_to_date" ? "It is up to date." : `It is not upgraded: ${reason}.`;
}

/** Look for an upgrade of an installed skill, show which files it changes, and upgrade. */
export function Upgrade({ id, onChanged }) {
  const [{ isWorking, result, error }, setState] = useState({});
  const ask = async (check) => {
    setState({ isWorking: true, result });
    try {
      const { results } = await post(ROUTE, { skill_id: id, check });
      setState({ result: results[0] });
      if (check) return;
      onChanged();
    } catch (failure) {
      setState({ error: problem(failure) });
    }
  };
  const isFound = result?.outcome === "would_update";
  return html`<section class="upgrade" aria-label="Upgrade">
    <h2>Since it was installed</h2>
    <p role="status">${isWorking ? "Looking…" : result && html`<${Text}>${told(result)}<//>`}</p>
    ${isFound && result.changes && html`<${Changes} changes=${result.changes} />`}
    ${error && html`<p class="problem" role="alert"><${Text}>${error}<//></p>`}
    <div class="buttons"><button class=${isFound ? "primary" : "quiet"} disabled=${isWorking} onClick=${() => ask(!isFound)}>
      ${isFound ? "Upgrade" : "Look for an upgrade"}</button></div>
  </section>`;
}
