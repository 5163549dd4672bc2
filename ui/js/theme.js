/** Light or dark: the system's choice until somebody chooses here. `/ui/theme.js` applies the choice before painting. */

import { html, useState } from "../vendor/htm-3.1.1/standalone.module.js";

const PLACE = "skill-registry.theme";

function current() {
  return document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

export function ThemeSwitch() {
  const [theme, setTheme] = useState(current);
  const other = theme === "dark" ? "light" : "dark";
  const change = () => {
    document.documentElement.dataset.theme = other;
    try {
      localStorage.setItem(PLACE, other);
    } catch {
      // Without storage the choice lasts until the page is loaded again.
    }
    setTheme(other);
  };
  return html`<button class="icon" aria-label=${`Use ${other} colours`} title=${`Use ${other} colours`} onClick=${change}>
    <span aria-hidden="true">${theme === "dark" ? "☀" : "☾"}</span></button>`;
}
