/** One skill in full: what it is, how to get it, its text, its files, what was found in it, its versions. */

import { html, useCallback, useEffect } from "../vendor/htm-3.1.1/standalone.module.js";
import { Action } from "./actions.js";
import { follow, leave, link } from "./address.js";
import { get, pathOf } from "./api.js";
import { Labels, Risk, Standing } from "./card.js";
import { File, Files } from "./file.js";
import { Install } from "./install.js";
import { useLoaded } from "./loaded.js";
import { Markdown } from "./markdown.js";
import { Download, isPublished } from "./package.js";
import { isRegistry, service } from "./service.js";
import { Similar } from "./similar.js";
import { Failure, Notice, Skeletons } from "./states.js";
import { day, Text } from "./text.js";
import { loadVersions, Version, Versions } from "./versions.js";

const optional = (promise, otherwise) => promise.catch(() => otherwise);

async function loadSkill(id, status, signal) {
  const path = `/api/v1/skills/${pathOf(id)}`;
  const skill = await get(path, signal);
  const [content, files, versions] = await Promise.all([
    optional(get(`${path}/content?format=html`, signal), null),
    skill.installed || isPublished(skill, status) ? optional(get(`${path}/files`, signal), []) : [],
    isRegistry(status) ? optional(loadVersions(id, signal), []) : [],
  ]);
  return { skill, content, files, versions };
}

export function Detail({ id, version, file, line }) {
  const status = service.use();
  const { data, error, again } = useLoaded((signal) => loadSkill(id, status, signal), [id, isRegistry(status)]);
  useEffect(() => {
    if (!data) return undefined;
    document.title = `${data.skill.name} · Skill Registry`;
    return () => (document.title = "Skill Registry");
  }, [data]);
  return html`<div class="detail" aria-busy=${!data && !error}>
    <p class="back"><a href=${link({ skill: "" })} onClick=${back}>← All skills</a></p>
    ${error && (error.status === 404
      ? html`<${Notice} title="There is no such skill"><code><${Text}>${id}<//></code> may have been removed or renamed.<//>`
      : html`<${Failure} error=${error} onRetry=${again} />`)}
    ${!data && !error && html`<${Skeletons} count=${3} />`}
    ${data && html`<${Loaded} ...${data} version=${version} file=${file} line=${line} />`}
  </div>`;
}

function back(event) {
  if (event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  leave();
}

function Loaded({ skill, content, files, versions, version, file, line }) {
  return html`
    <header class="title">
      <div class="what">
        <h1><${Text}>${skill.name}<//> <small><${Text}>${skill.version}<//></small></h1>
        <p class="head"><code><${Text}>${skill.id}<//></code> <${Standing} skill=${skill} />
          <${Risk} risk=${skill.findings?.risk} /></p>
        <p class="description"><${Text}>${skill.description}<//></p>
        <${Labels} labels=${skill.tags} field="tag" name="Tags" />
        <${Labels} labels=${skill.capabilities} field="capability" name="Capabilities" />
      </div>
      <${Action} skill=${skill} isFull />
      <${Install} skill=${skill} />
    </header>
    <div class="columns">
      <div class="main">
        ${version && isRegistry(service.get()) && html`<${Version} skill=${skill} version=${version} />`}
        ${file ? html`<${File} id=${skill.id} path=${file} line=${line} known=${files.find((one) => one.path === file)} />` : html`<${Body} id=${skill.id} content=${content} files=${files} />`}
      </div>
      <aside aria-label="About this skill">
        <${Package} skill=${skill} />
        <${Findings} findings=${skill.findings} files=${files} />
        <${Facts} skill=${skill} />
        <${Files} files=${files} file=${file} />
        <${Versions} id=${skill.id} versions=${versions} shown=${version} />
        <${Similar} skill=${skill} />
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

function Package({ skill }) {
  const status = service.use();
  if (!skill.download_url) return null;
  return html`<section><p><${Download} url=${skill.download_url} status=${status}
    name=${`${skill.id.split("/").pop()}-${skill.version}.zip`}>Download the package<//></p></section>`;
}

/** Where something was found; a link to the line where the file can be shown. */
function Place({ file, line, files }) {
  const text = html`<code><${Text}>${file}<//>${line ? `:${line}` : ""}</code>`;
  if (!files.some(({ path }) => path === file)) return text;
  const changes = { file, line: line ? String(line) : "" };
  return html`<a href=${link(changes)} onClick=${(event) => follow(event, changes)}>${text}</a>`;
}

function Findings({ findings, files }) {
  if (!findings) return null;
  const { findings: all } = findings;
  return html`<section class="findings">
    <h2>Findings</h2>
    ${all.length === 0 && html`<p>Nothing dangerous or hidden was found in its texts. That is no proof that there is nothing.</p>`}
    <ul>
      ${all.map(({ severity, message, file, line, rule }) => html`<li>
        <span class=${`badge risk-${severity}`}>${severity}</span>
        <p><${Text}>${message}<//></p>
        <p class="facts"><${Place} file=${file} line=${line} files=${files} /> ${rule}</p>
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
