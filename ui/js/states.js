/** What is shown where there is nothing to show: each state says what is the matter and what to do. */

import { html } from "../vendor/htm-3.1.1/standalone.module.js";
import { isRegistry, service } from "./service.js";
import { useTitle } from "./title.js";

export function Notice({ title, children, kind = "empty", action, onAction, isPage = false }) {
  return html`<div class=${`notice ${kind}`} role=${kind === "error" ? "alert" : undefined}>
    ${isPage ? html`<h1 class="title">${title}</h1>` : html`<p class="title">${title}</p>`}
    ${children && html`<p>${children}</p>`}
    ${action && html`<button onClick=${onAction}>${action}</button>`}
  </div>`;
}

/** A notice in place of a page that does not exist. It is the title of the tab too. */
export function Missing(props) {
  useTitle(props.title);
  return html`<${Notice} ...${props} isPage />`;
}

/** Say what went wrong, and offer to try again. */
export function Failure({ error, onRetry, what = "This could not be loaded" }) {
  if (error.status === 0) {
    return html`<${Notice} kind="error" title="The service does not answer" action="Try again" onAction=${onRetry}>
      It may be stopped, or this device may be offline. What is shown may be out of date.
    <//>`;
  }
  return html`<${Notice} kind="error" title=${what} action=${onRetry && "Try again"} onAction=${onRetry}>
    ${error.message}
  <//>`;
}

/** Return what is wrong in one line, with every broken rule. */
export function problem(error) {
  const rules = (error.details ?? []).map(({ field, message }) => `${field} ${message}`);
  return rules.length > 1 ? rules.join("; ") : error.message;
}

/** Say how an empty catalog is filled. */
export function NoSkills() {
  const isPublic = isRegistry(service.use());
  return html`<${Notice} title="There are no skills yet">
    ${isPublic
      ? html`Publish the first one: <code>skill-registry publish FOLDER</code>. Or list those of another place:`
      : "Put a folder with a SKILL.md into the skills directory, or add a source:"}
    ${" "}<code>skill-registry sources add NAME URL</code>
  <//>`;
}

/** The shapes of cards that are on their way: as high as cards are, so that nothing jumps when they come. */
export function Skeletons({ count = 6 }) {
  return html`<div class="skeletons" aria-hidden="true">
    ${Array.from({ length: count }, () => html`<div class="skeleton"><i></i><i></i><i></i></div>`)}
  </div>`;
}
