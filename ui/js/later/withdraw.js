/** Withdrawing: yank, list again and revoke a version, deprecate a skill, waive a finding. Each asks for a reason. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { call, pathOf, post } from "../api.js";
import { useMay, useMayPublishTo } from "../service.js";
import { Text } from "../text.js";
import { Ask, Confirm } from "./form.js";

const REASON = { name: "reason", label: "Reason", maxlength: 500, hint: "In one line. All who have installed it see it." };
const REPLACEMENT = { name: "replacement", label: "Use instead", maxlength: 250, placeholder: "scope/name@^1.2" };

/** What can be done to a version or a skill: `fields` are asked for, without them a confirmation is. */
const ACTIONS = {
  yank: { word: "Yank", what: "version", fields: [REASON, REPLACEMENT], then: "It leaves lists and search. Who asks for exactly this version still gets it." },
  unyank: { word: "List again", what: "version", then: "Lists and search show it again." },
  revoke: { word: "Revoke", what: "version", fields: [{ ...REASON, required: true }, REPLACEMENT], then: "Its bytes are refused for ever, also to those who know the version. This cannot be undone." },
  deprecate: { word: "Deprecate", what: "skill", fields: [REASON, REPLACEMENT], then: "It stays found, marked and below others, and can be installed." },
  undeprecate: { word: "Undo the deprecation", what: "skill", then: "It is shown as before." },
};

/** A button that asks for the values of an action and does it. `path` is the skill or the version, `named` its name. */
function Withdrawing({ action, path, named, onChanged }) {
  const [isAsking, setAsking] = useState(false);
  const { word, what, fields, then } = ACTIONS[action];
  const send = async (note = {}) => {
    await post(`/api/v1/registry/skills/${path}/${action}`, note);
    setAsking(false);
    onChanged();
  };
  const about = { title: `${word}${word.includes(" ") ? "" : ` this ${what}`}?`, word, send, onClose: () => setAsking(false) };
  const told = html`<p><strong><${Text}>${named}<//></strong></p><p>${then}</p>`;
  return html`<button class="quiet" onClick=${() => setAsking(true)}>${word}</button>
    ${isAsking && (fields ? html`<${Ask} ...${about} fields=${fields}>${told}<//>` : html`<${Confirm} ...${about}>${told}<//>`)}`;
}

/** What the visitor may do with a published version in this state. */
export function WithdrawVersion({ id, version, isYanked, withdrawn, onChanged }) {
  const mayYank = useMayPublishTo(id);
  const mayRevoke = useMay("admin");
  if (!mayYank || withdrawn?.state === "revoked") return null;
  const about = { path: `${pathOf(id)}/${encodeURIComponent(version)}`, named: `${id} ${version}`, onChanged };
  return html`<${Withdrawing} action=${isYanked ? "unyank" : "yank"} ...${about} />
    ${mayRevoke && html`<${Withdrawing} action="revoke" ...${about} />`}`;
}

/** Deprecate a published skill, or undo that. */
export function Deprecate({ skill, onChanged }) {
  if (!useMayPublishTo(skill.id)) return null;
  const action = skill.withdrawn?.state === "deprecated" ? "undeprecate" : "deprecate";
  return html`<p class="buttons"><${Withdrawing} action=${action} path=${pathOf(skill.id)} named=${skill.id} onChanged=${onChanged} /></p>`;
}

/** Say of a finding of a published version that it does no harm, or that it counts again. */
export function Waive({ id, version, finding, isWaived, onChanged }) {
  const [isAsking, setAsking] = useState(false);
  if (!useMay("admin")) return null;
  const { rule, file = null, message } = finding;
  const path = `/api/v1/registry/skills/${pathOf(id)}/${encodeURIComponent(version)}/waivers`;
  const ended = () => {
    setAsking(false);
    onChanged();
  };
  const about = { onClose: () => setAsking(false) };
  const send = async ({ reason }) => {
    await post(path, { rule, file, reason });
    ended();
  };
  const remove = async () => {
    const query = new URLSearchParams({ rule, ...(file && { file }) });
    await call("DELETE", `${path}?${query}`);
    ended();
  };
  const told = html`<p><strong><${Text}>${message}<//></strong></p>`;
  return html`<button class="text" aria-label=${`${isWaived ? "Remove the waiver" : "Waive"}: ${rule}`} onClick=${() => setAsking(true)}>${isWaived ? "Remove the waiver" : "Waive"}</button>
    ${isAsking && (isWaived
      ? html`<${Confirm} title="Remove this waiver?" word="Remove" ...${about} send=${remove}>${told}<p>The finding counts for the risk again.</p><//>`
      : html`<${Ask} title="Waive this finding?" word="Waive" ...${about} send=${send} fields=${[{ ...REASON, required: true, hint: "In one line. The page shows it with the finding." }]}>${told}<p>It stays visible and does not count for the risk.</p><//>`)}`;
}
