/** Paths of files within a skill, and the addresses at which the service has them. */

import { pathOf } from "./api.js";

/** Return the address of the files of a skill, or of one of its versions. */
export function filesAt(id, version) {
  return `/api/v1/skills/${pathOf(id)}${version ? `/versions/${encodeURIComponent(version)}` : ""}/files`;
}

/** Return the address of a file of a skill, or of one of its versions. */
export const fileAt = (id, path, version) => `${filesAt(id, version)}/${pathOf(path)}`;

export const isMarkdown = (path) => /\.(?:md|markdown)$/i.test(path);

const LANGUAGES =
  "bash c cc cjs cpp cs css cts cxx diff go gql graphql h hpp html ini java js json json5 jsonc jsx kt kts less lua mk mjs mm mts " +
  "patch php pl pm py rb rs scss sh sql svg swift toml ts tsx vb xml xsl yaml yml zsh md markdown makefile";
const CODE = new Map(LANGUAGES.split(" ").map((one) => [one, one]));
for (const [ending, like] of Object.entries({ cfg: "ini", conf: "ini", env: "ini", fish: "sh", htm: "html", ipynb: "json", m: "mm", pyi: "py", svelte: "html", vue: "html" })) {
  CODE.set(ending, like);
}

/** Return the language of a file as the highlighter calls it, by the end of its name; undefined if it has none. */
export const languageOf = (path) => CODE.get(path.split("/").pop().split(".").pop().toLowerCase());

export function plain(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Return the path of the file that a link in another file leads to, null where it leads out of the skill. */
export function resolved(target, from) {
  const names = from.split("/").slice(0, -1);
  for (const name of plain(target.split(/[?#]/)[0]).split("/")) {
    if (name === "..") {
      if (names.length === 0) return null;
      names.pop();
    } else if (name && name !== ".") {
      names.push(name);
    }
  }
  return names.join("/");
}
