/** A line for the command line, with a button that copies it. */

import { html, useRef, useState } from "../vendor/htm-3.1.1/standalone.module.js";

/** Show a line below its `name`, or, where `isBare`, alone: its button names it then. */
export function Line({ name, text, isBare = false }) {
  const [said, say] = useState("");
  const code = useRef(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
    } catch {
      getSelection().selectAllChildren(code.current); // over plain HTTP a page has no clipboard of its own
      say(document.execCommand("copy") ? "Copied" : "Selected");
    }
    setTimeout(() => say(""), 2000);
  };
  return html`<div class="line">
    ${!isBare && html`<p>${name}</p>`}
    <div class="copyable"><code ref=${code} tabindex=${isBare ? undefined : "0"}>${text}</code><button class="quiet" aria-label=${`Copy: ${name}`} onClick=${copy}>${said || "Copy"}</button></div>
    <p class="heard" role="status">${said}</p>
  </div>`;
}
