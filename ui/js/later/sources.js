/** The sources of the service: what each lists and what is amiss; adding, removing and reading them anew. */

import { html, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { call, get, post } from "../api.js";
import { Ask, Confirm } from "./form.js";
import { useLoaded } from "../loaded.js";
import { refreshStatus, useMay } from "../service.js";
import { Failure, problem } from "../states.js";
import { count, Text } from "../text.js";

const PATH = "/api/v1/registry/sources";
const OWN = ["local", "registry"]; // the skills directory, and what is published or written here
const FIELDS = [
  { name: "name", label: "Name", required: true, hint: "Its skills are called name/skill here." },
  { name: "url", label: "Address", type: "url", required: true, hint: "A git repository, a zip, a marketplace document or another registry." },
  { name: "type", label: "What it is", options: ["detected", "git", "http", "zip", "registry"] },
  { name: "branch", label: "Branch, of a git repository" },
  { name: "api_key", label: "API key, of a registry that asks for one", type: "password" },
];

export function Sources() {
  const mayRefresh = useMay("manager");
  const mayChange = useMay("admin");
  const { data, error, again } = useLoaded((signal) => get(PATH, signal), []);
  const [state, setState] = useState({});
  const changed = () => {
    setState({});
    again();
    refreshStatus().catch(() => {}); // only the counts are older then
  };
  const refresh = async () => {
    setState({ isWorking: true });
    try {
      await post("/api/v1/registry/refresh");
      changed();
    } catch (failure) {
      setState({ error: problem(failure) });
    }
  };
  const add = async ({ type, ...source }) => {
    await post(PATH, type === "detected" ? source : { ...source, type });
    changed();
  };
  const remove = async () => {
    await call("DELETE", `${PATH}/${encodeURIComponent(state.removing)}`);
    changed();
  };
  const close = () => setState({});
  return html`<section>
    <h2>Sources</h2>
    ${error && html`<${Failure} error=${error} onRetry=${again} />`}
    <ul class="sources">${(data ?? []).map((source) => html`<${Source} key=${source.name} ...${source}
      onRemove=${mayChange && !source.configured && !OWN.includes(source.name) ? () => setState({ removing: source.name }) : null} />`)}</ul>
    ${(mayRefresh || mayChange) && html`<div class="buttons">
      ${mayChange && html`<button onClick=${() => setState({ isAdding: true })}>Add a source</button>`}
      ${mayRefresh && html`<button class="quiet" disabled=${state.isWorking} onClick=${refresh}>
        ${state.isWorking ? "Reading them anew…" : "Refresh all sources"}</button>`}
    </div>`}
    ${state.error && html`<p class="problem" role="alert">${state.error}</p>`}
    ${state.isAdding && html`<${Ask} title="Add a source" word="Add" fields=${FIELDS} send=${add} onClose=${close} />`}
    ${state.removing && html`<${Confirm} title="Remove this source?" word="Remove" send=${remove} onClose=${close}>
      <p><strong><${Text}>${state.removing}<//></strong></p><p>What it lists disappears. Skills that were installed from it stay.</p><//>`}
  </section>`;
}

function Source({ name, type, url, path, branch, skills, last_refreshed: at, error, warnings, configured, onRemove }) {
  const facts = [url ?? path, branch, at && `read ${at.slice(0, 16).replace("T", " ")} UTC`, configured && !OWN.includes(name) && "set in the configuration"];
  return html`<li>
    <div class="head"><strong><${Text}>${name}<//></strong> <span class="badge">${type}</span>
      <span class="number">${count(skills, "skill")}</span>
      ${onRemove && html`<button class="text" aria-label=${`Remove source ${name}`} onClick=${onRemove}>Remove</button>`}</div>
    <p class="facts"><${Text}>${facts.filter(Boolean).join(" · ")}<//></p>
    ${error && html`<p class="problem"><${Text}>${error}<//></p>`}
    ${warnings.length > 0 && html`<details><summary>${count(warnings.length, "warning")}</summary>
      <ul>${warnings.map((warning) => html`<li><${Text}>${warning}<//></li>`)}</ul></details>`}
  </li>`;
}
