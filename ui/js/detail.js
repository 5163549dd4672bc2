/** One skill in full: what it tells agents, what is in it, what was found in it, and how to get it. */

import { html, useCallback, useEffect, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { Action, useStanding } from "./actions.js";
import { follow, leave, link } from "./address.js";
import { get, pathOf, textOf } from "./api.js";
import { InstallLine, Labels, Risk, Standing } from "./card.js";
import { Line } from "./copy-line.js";
import { Markdown } from "./markdown.js";
import { addressOf, Download, installCommand, isPublished } from "./package.js";
import { isRegistry, service } from "./service.js";
import { Failure, Notice, Skeletons } from "./states.js";
import { count, day, size, Text } from "./text.js";

const SHOWN_BYTES = 512 << 10;

/** Load with a function of an AbortSignal: `{data}`, `{error}`, or `{}` while it is on its way; and `again`. */
export function useLoaded(load, keys) {
  const [state, setState] = useState({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    const unless = (then) => (value) => controller.signal.aborted || then(value);
    setState({});
    load(controller.signal).then(
      unless((data) => setState({ data })),
      unless((error) => setState({ error })),
    );
    return () => controller.abort();
  }, [...keys, turn]);
  return { ...state, again: () => setTurn(turn + 1) };
}

const optional = (promise, otherwise) => promise.catch(() => otherwise);

async function loadSkill(id, status, signal) {
  const path = `/api/v1/skills/${pathOf(id)}`;
  const skill = await get(path, signal);
  const [content, files, versions] = await Promise.all([
    optional(get(`${path}/content?format=html`, signal), null),
    skill.installed || isPublished(skill, status) ? optional(get(`${path}/files`, signal), []) : [],
    isRegistry(status) ? optional(get(`${path}/versions?limit=100`, signal), []) : [],
  ]);
  return { skill, content, files, versions };
}

export function Detail({ id, file }) {
  const status = service.use();
  const { data, error, again } = useLoaded((signal) => loadSkill(id, status, signal), [id, isRegistry(status)]);
  useEffect(() => {
    if (!data) return undefined;
    document.title = `${data.skill.name} · Skill Registry`;
    return () => (document.title = "Skill Registry");
  }, [data]);
  return html`<div class="detail" aria-busy=${!data && !error}>
    <p class="back"><a href=${link({ skill: "", file: "" })} onClick=${back}>← All skills</a></p>
    ${error && (error.status === 404
      ? html`<${Notice} title="There is no such skill"><code><${Text}>${id}<//></code> may have been removed or renamed.<//>`
      : html`<${Failure} error=${error} onRetry=${again} />`)}
    ${!data && !error && html`<${Skeletons} count=${3} />`}
    ${data && html`<${Loaded} ...${data} file=${file} />`}
  </div>`;
}

function back(event) {
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  leave();
}

function Loaded({ skill, content, files, versions, file }) {
  return html`
    <header class="title">
      <div class="what">
        <h1><${Text}>${skill.name}<//> <small><${Text}>${skill.version}<//></small></h1>
        <p class="head"><code><${Text}>${skill.id}<//></code> <${Standing} skill=${skill} />
          <${Risk} risk=${skill.findings?.risk} /></p>
        <p class="description"><${Text}>${skill.description}<//></p>
        <${Labels} labels=${skill.tags} field="tag" name="Tags" />
        <${Labels} labels=${skill.capabilities} field="capability" name="Capabilities" />
        <${InstallLine} skill=${skill} />
      </div>
      <${Action} skill=${skill} isFull />
    </header>
    <div class="columns">
      <div class="main">
        ${file ? html`<${File} id=${skill.id} path=${file} known=${files.find((one) => one.path === file)} />` : html`<${Body} id=${skill.id} content=${content} files=${files} />`}
      </div>
      <aside aria-label="About this skill">
        <${Get} skill=${skill} />
        <${Findings} findings=${skill.findings} />
        <${Facts} skill=${skill} />
        <${Files} files=${files} file=${file} />
        <${Versions} versions=${versions} />
      </aside>
    </div>`;
}

function plain(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

function Body({ id, content, files }) {
  const onFile = useCallback((target) => {
    const path = plain(target.split("#")[0]).replace(/^\.\//, "");
    if (!files.some((one) => one.path === path)) return null;
    return { href: link({ skill: id, file: path }), open: (event) => follow(event, { file: path }) };
  }, [id, files]);
  if (!content?.content) return html`<${Notice} title="Its text cannot be shown here" />`;
  return html`<${Markdown} content=${content.content} onFile=${onFile} />`;
}

function File({ id, path, known }) {
  const url = `/api/v1/skills/${pathOf(id)}/files/${pathOf(path)}`;
  const isTooLong = known?.size > SHOWN_BYTES;
  const load = async (signal) => (isTooLong ? null : textOf(url, SHOWN_BYTES, signal));
  const { data, error, again } = useLoaded(load, [url, isTooLong]);
  return html`<section class="file" aria-label="File">
    <p class="back"><a href=${link({ file: "" })} onClick=${(event) => follow(event, { file: "" })}>SKILL.md</a>
      ${" / "}<code><${Text}>${path}<//></code></p>
    ${error && html`<${Failure} error=${error} onRetry=${again} />`}
    ${data === null && html`<${Notice} title="This file is not shown: it is no text, or too long">
      <${Download} url=${url} name=${path.split("/").pop()}>Download it<//><//>`}
    ${typeof data === "string" && html`<pre tabindex="0"><code><${Text}>${data}<//></code></pre>`}
  </section>`;
}

function Get({ skill }) {
  const { installed } = useStanding(skill);
  const status = service.use();
  const content = `${addressOf(status)}/api/v1/skills/${pathOf(skill.id)}/content`;
  const credential = isRegistry(status) && !status.anonymous_read ? ' -H "Authorization: Bearer $TOKEN"' : "";
  const isSaidAbove = isPublished(skill, status);
  const command = installed || isSaidAbove ? null : installCommand(skill, status);
  return html`<section>
    <h2>${command ? "Install" : "Use"}</h2>
    ${command && html`<${Line} name="On the command line" text=${command} />`}
    <${Line} name="For agents" text=${`curl -s${credential} '${content}'`} />
    ${skill.download_url && html`<p><${Download} url=${skill.download_url} status=${status}
      name=${`${skill.id.split("/").pop()}-${skill.version}.zip`}>Download the package<//></p>`}
  </section>`;
}

function Findings({ findings }) {
  if (!findings) return null;
  const { findings: all } = findings;
  return html`<section class="findings">
    <h2>Findings</h2>
    ${all.length === 0 && html`<p>Nothing dangerous or hidden was found in its texts. That is no proof that there is nothing.</p>`}
    <ul>
      ${all.map(({ severity, message, file, line, rule }) => html`<li>
        <span class=${`badge risk-${severity}`}>${severity}</span>
        <p><${Text}>${message}<//></p>
        <p class="facts"><code><${Text}>${file}<//>${line ? `:${line}` : ""}</code> ${rule}</p>
      </li>`)}
    </ul>
  </section>`;
}

/** Show a source as a link where it is an address of the web, else as text. */
function Where({ url }) {
  if (!/^https?:\/\//i.test(url)) return html`<${Text}>${url}<//>`;
  return html`<a href=${url} target="_blank" rel="noopener noreferrer nofollow"><${Text}>${url.replace(/^https?:\/\//i, "")}<//></a>`;
}

function Facts({ skill }) {
  const rows = [
    ["Source", skill.source],
    ["Author", skill.author],
    ["License", skill.license],
    ["Updated", day(skill.updated_at)],
    ["Needs", skill.dependencies.join(", ")],
    ["Runs in", skill.execution_environment],
    ["Time limit", skill.timeout && `${skill.timeout} s`],
    ["Digest", skill.digest],
  ].filter(([, value]) => value);
  return html`<section>
    <h2>About</h2>
    <dl>
      ${rows.map(([name, value]) => html`<div><dt>${name}</dt><dd class=${name === "Digest" ? "digest" : ""}><${Text}>${value}<//></dd></div>`)}
      ${skill.source_url && html`<div><dt>From</dt><dd><${Where} url=${skill.source_url} /></dd></div>`}
    </dl>
    ${skill.warnings.map((warning) => html`<p class="problem"><${Text}>${warning}<//></p>`)}
  </section>`;
}

function Files({ files, file }) {
  if (files.length === 0) return null;
  return html`<section>
    <h2>Files <span class="number">${files.length}</span></h2>
    <ul class="files">
      ${files.map(({ path, size: bytes }) => html`<li key=${path}>
        <a href=${link({ file: path })} aria-current=${file === path ? "true" : undefined}
          onClick=${(event) => follow(event, { file: path })}><${Text}>${path}<//></a>
        <span class="number">${size(bytes)}</span>
      </li>`)}
    </ul>
  </section>`;
}

function Versions({ versions }) {
  if (versions.length === 0) return null;
  return html`<section>
    <h2>${count(versions.length, "version")}</h2>
    <ul class="files">
      ${versions.map(({ version, created_at: made }) => html`<li key=${version}>
        <span><${Text}>${version}<//></span> <time class="number" datetime=${made}>${day(made)}</time></li>`)}
    </ul>
  </section>`;
}
