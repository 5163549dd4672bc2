/** The line that gets a skill, one for each client: the first thing somebody wants who has found it. */

import { html, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { useStanding } from "./actions.js";
import { pathOf } from "./api.js";
import { Line } from "./copy-line.js";
import { tellChosen } from "./feedback.js";
import { addressOf, installCommand, isPublished, isRecord } from "./package.js";
import { isRegistry, service } from "./service.js";

function commandNote(isFolder, version) {
  const how = version ? "Exactly this version" : isFolder ? "For another machine" : "Files are checked, and 'skill-registry upgrade' brings newer ones";
  return `${how}. A project records it in its manifest and lock.`;
}

/** Return `{client, name, text, note}` for each way to get a skill, or a `version` of it, the most direct one first. */
function ways(skill, status, installed, version) {
  const base = addressOf(status);
  const named = version && `@${version}`;
  const isFolder = skill.source === "local";
  const command = installed && !isFolder ? null : installCommand(skill, status, version);
  const hasFiles = (installed || isPublished(skill, status)) && !isRecord(skill, status);
  const isClosed = isRegistry(status) && !status.anonymous_read;
  const credential = isClosed ? ' -H "Authorization: Bearer $TOKEN"' : "";
  const path = `${base}/api/v1/skills/${pathOf(skill.id)}`;
  return [
    command && { client: "skill-registry", name: `install ${skill.id}${named}`, text: command, note: commandNote(isFolder, version) },
    hasFiles && !version && { client: "npx skills", name: "npx skills", text: `npx skills add ${base}/s/${pathOf(skill.id)}`,
      note: isClosed ? "It sends no token: this registry must allow anonymous reading." : "Places it for the agents of a project." },
    { client: "MCP", name: "MCP", text: `claude mcp add --transport http skills ${base}/mcp`, note: version
      ? `Then the agent reads it with get_skill ${skill.id}, version ${version}.`
      : `Then the agent reads it with get_skill ${skill.id}, or finds it with search_skills.` },
    { client: "curl", name: "curl", text: `curl -s${credential}${version ? "" : " -H 'Accept: text/markdown'"} '${path}/${version ? `versions/${version}/files/SKILL.md` : "content"}'`, note: "Its SKILL.md, for any agent." },
  ].filter(Boolean);
}

/**
 * `version` is another one than the current, which only some of the ways can name. `risk` and `yanked` are those of the
 * version that is shown.
 */
export function Install({ skill, version, risk, yanked, isRevoked }) {
  const status = service.use();
  const { installed, gone } = useStanding(skill);
  const [chosen, choose] = useState("");
  if (gone) return null;
  if (isRevoked) return html`<section class="install" aria-label="Install"><p class="problem">This version was revoked: nobody can install it.</p></section>`;
  const all = ways(skill, status, installed, version);
  const way = all.find(({ client }) => client === chosen) ?? all[0];
  const warned = risk === "high" ? "High risk: read its findings before you install it." : "";
  return html`<section class="install" aria-label="Install">
    <div class="ways" role="group" aria-label="For">
      ${all.map(({ client }) => html`<button key=${client} aria-pressed=${client === way.client} onClick=${() => choose(client)}>${client}</button>`)}
    </div>
    ${yanked && html`<p class="problem">This version was withdrawn: install another one.</p>`}
    ${warned && html`<p class="problem" role="note">${warned}</p>`}
    <${Line} name=${way.name} text=${way.text} isBare onCopy=${() => tellChosen(skill.id)} />
    <p class="facts">${way.note}</p>
  </section>`;
}
