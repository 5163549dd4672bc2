/** Publishing a package, a zip or a folder that becomes one: what it holds is shown, then it is sent and its job followed. */

import { html, useEffect, useRef, useState } from "../../vendor/htm-3.1.1/standalone.module.js";
import { link } from "../address.js";
import { call, get } from "../api.js";
import { Severity } from "../card.js";
import { useMay } from "../service.js";
import { session } from "../session.js";
import { Notice, problem } from "../states.js";
import { count, size, Text } from "../text.js";
import { zip } from "./zip.js";

const ROUTE = "/api/v1/registry/publish";
const LOOK_EVERY_MS = 500;
const OPEN_FILES = 20;
const LIVE = ["pending", "validating"];
const STEPS = { pending: "Waiting", validating: "Being checked", held: "Waits for a review", accepted: "Published", rejected: "Refused" };

async function filesBelow(entry, path = "") {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ path: path + entry.name, bytes: new Uint8Array(await file.arrayBuffer()) }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) break; // a reader hands out a hundred at a time
    for (const one of some) found.push(...(await filesBelow(one, `${path}${entry.name}/`)));
  }
  return found;
}

/** Return what was dropped as one package. */
async function packageOf(transfer) {
  const entry = transfer.items[0]?.webkitGetAsEntry?.();
  if (!entry?.isDirectory) return transfer.files[0];
  return new File([zip(await filesBelow(entry))], `${entry.name}.zip`);
}

function formOf(file) {
  const form = new FormData();
  form.append("package", file, file.name);
  return form;
}

/** Send a package and follow its job to its end; `tell` is told how it stands. */
async function publish(file, tell, isHere) {
  let now = await call("POST", ROUTE, { form: formOf(file) });
  while (isHere() && LIVE.includes(now.status)) {
    tell(now);
    await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    now = await get(`${ROUTE}/${now.job_id}/status`);
  }
  return now;
}

export function Publish({ onSignIn }) {
  const mayPublish = useMay("manager");
  const visitor = session.use();
  const [state, setState] = useState({}); // one of: busy, found with its file, job, error
  const [isOver, setOver] = useState(false);
  const isHere = useRef(true);
  useEffect(() => () => (isHere.current = false), []);

  const attempt = async (what) => {
    try {
      await what();
    } catch (failure) {
      setState({ error: failure.status === undefined ? "This folder could not be read" : problem(failure) });
    }
  };
  const look = (take) => attempt(async () => {
    setState({ busy: "Being checked" });
    const file = await take();
    setState(file ? { file, found: await call("POST", `${ROUTE}/check`, { form: formOf(file) }) } : {});
  });
  const send = (file, found) => attempt(async () => {
    setState({ job: { ...found, status: "pending" } });
    setState({ job: await publish(file, (job) => setState({ job }), () => isHere.current) });
  });
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    look(() => packageOf(event.dataTransfer));
  };
  const { busy, file, found, job, error } = state;
  if (!mayPublish && !visitor) {
    return html`<${Notice} title="Sign in to publish" action="Sign in" onAction=${onSignIn}>Publishing needs the role manager.<//>`;
  }
  if (!mayPublish) return html`<p>Publishing needs the role manager, and you have signed in as ${visitor.role}.</p>`;
  return html`<div class="publish">
    <h1>Publish a skill</h1>
    ${!found && html`<label class=${isOver ? "drop over" : "drop"} onDrop=${drop} onDragLeave=${() => setOver(false)}
      onDragOver=${(event) => (event.preventDefault(), setOver(true))}>
      <strong>Drop a zip or a folder here</strong>
      <span>or choose a zip; it holds a SKILL.md, and its name and version. You see what it holds before it is published.</span>
      <input type="file" accept=".zip,application/zip" onChange=${(event) => look(() => event.target.files[0])} />
    </label>`}
    ${error && html`<p class="problem" role="alert">${error}</p>`}
    <div role="status">${busy && html`<p>${busy}… <progress aria-label=${busy}></progress></p>`}
      ${job && html`<${Job} ...${job} />`}</div>
    ${found && html`<${Preview} ...${found} onSend=${() => send(file, found)} onCancel=${() => setState({})} />`}
  </div>`;
}

function Notes({ title, notes }) {
  if (notes.length === 0) return null;
  return html`<h3>${title}</h3><ul class="findings">${notes.map(({ severity, field, message }) => html`<li>
    <${Severity} of=${severity} />
    <p>${field && html`<code><${Text}>${field}<//></code>: `}<${Text}>${message}<//></p></li>`)}</ul>`;
}

/** What would be published, with what is found in it, before anything is sent to stay. */
function Preview({ skill_id: id, version, previous, description, size: bytes, files, errors, warnings, accepted, onSend, onCancel }) {
  return html`<section class="preview" aria-label="What will be published">
    <h2><${Text}>${`${id} ${version}`}<//></h2>
    <p><${Text}>${description}<//></p>
    <p class="facts">${previous ? html`<span>A new version: the last one is <${Text}>${previous}<//></span>` : html`<span>A new skill</span>`}
      <span>${size(bytes)}</span></p>
    ${!accepted && html`<p class="problem" role="alert">It cannot be published.</p>`}
    <${Notes} title="Why not" notes=${errors} />
    <${Notes} title="Findings" notes=${warnings} />
    ${accepted && warnings.length === 0 && html`<p class="facts">Nothing dangerous or hidden was found in its texts.</p>`}
    ${files.length > 0 && html`<details open=${files.length <= OPEN_FILES}><summary>${count(files.length, "file")}</summary>
      <ul class="files">${files.map((file) => html`<li key=${file.path}><code><${Text}>${file.path}<//></code>
        <span class="number">${size(file.size)}</span></li>`)}</ul></details>`}
    <div class="buttons">
      ${accepted && html`<button class="primary" onClick=${onSend}>Publish ${version}</button>`}
      <button onClick=${onCancel}>${accepted ? "Cancel" : "Choose another"}</button>
    </div>
  </section>`;
}

function Job({ status, skill_id: id, version, name, errors = [], warnings = [] }) {
  return html`<section>
    <h2><${Text}>${id ? `${id} ${version ?? ""}` : name}<//></h2>
    <p>${STEPS[status] ?? status}${status === "accepted" && html`: <a href=${link({ view: "", skill: id })}>see it</a>`}${LIVE.includes(status) && html`… <progress aria-label="Publishing"></progress>`}</p>
    <ul>${[...errors, ...warnings].map((one) => html`<li class="problem"><${Text}>${one.message ?? one}<//></li>`)}</ul>
  </section>`;
}
