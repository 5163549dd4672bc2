/** How a skill gets to another machine: the command that installs it, and the link to its package. */

import { html, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { blobOf } from "./api.js";
import { BASE } from "./base.js";
import { isRegistry } from "./service.js";
import { session } from "./session.js";
import { problem } from "./states.js";

/** Return whether this service has published a skill, and so has its package: the ids of records have no scope. */
export const isPublished = ({ source, id }, status) => source === "registry" && isRegistry(status) && id.includes("/");

/** Return whether a skill is only described here, so that there is nothing to install. */
export const isRecord = (skill, status) => skill.source === "registry" && !isPublished(skill, status);

/** Return the address of this service, as other machines reach it. */
export const addressOf = (status) => status?.public_url ?? location.origin + BASE;

/** Return the command that installs a skill, or a `version` of it; null where it cannot be installed. */
export function installCommand(skill, status, version = "") {
  if (isRecord(skill, status) || skill.installable === false) return null;
  if (skill.source === "local") return folderCommand(skill, status, version);
  const from = isPublished(skill, status) ? ` --from ${addressOf(status)}` : "";
  return `skill-registry install ${skill.id}${version && `@${version}`}${from}`;
}

/** Return the command that installs a folder of this service elsewhere. An id with a scope would be that of a package. */
function folderCommand({ id }, status, version) {
  return isRegistry(status) || version || id.includes("/") ? null : `skill-registry install ${id} --from ${addressOf(status)}`;
}

/** Return where a package is: at this service's own address, even if it is called otherwise elsewhere. */
function placeOf(url, status) {
  const own = `${addressOf(status)}/packages/`;
  try {
    const path = url.startsWith(own) ? `/packages/${url.slice(own.length)}` : url;
    const place = new URL(path.startsWith("/") ? BASE + path : path, location.origin);
    return /^https?:$/.test(place.protocol) ? place : null;
  } catch {
    return null;
  }
}

function save(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000); // the browser may still be reading it
}

/** A link that downloads a file. A browser sends no credential with a link: where there is one, the page fetches it. */
export function Download({ url, name, status, children }) {
  const visitor = session.use();
  const [state, setState] = useState({});
  const place = placeOf(url, status);
  if (!place) return null;
  const isOurs = place.origin === location.origin;
  const path = place.pathname + place.search;
  const download = async (event) => {
    if (!visitor || !isOurs) return;
    event.preventDefault();
    setState({ isWorking: true });
    try {
      save(await blobOf(path.slice(BASE.length)), name);
      setState({});
    } catch (error) {
      setState({ error: problem(error) });
    }
  };
  return html`<a href=${isOurs ? path : place.href} download=${name} rel="noopener noreferrer"
      aria-busy=${state.isWorking} onClick=${download}>${children}</a>
    ${state.error && html`<span class="problem" role="alert"> ${state.error}</span>`}`;
}
