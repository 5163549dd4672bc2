/** Syntax colours for blocks of code and for files. What is large, unknown or takes long stays as it is. */

const LONGEST = 20_000;
const MOST_PIECES = 3000;
const PATIENCE_MS = 2000;
const CLASS = /^hljs-[a-z_-]{1,30}$/;

let worker = null;
let asked = 0;
const waiting = new Map();

function end() {
  worker?.terminate();
  worker = null;
  for (const resolve of waiting.values()) resolve(null);
  waiting.clear();
}

function started() {
  if (worker) return worker;
  worker = new Worker(new URL("./colour-worker.js", import.meta.url), { type: "module" });
  worker.onmessage = ({ data: { number, pieces } }) => {
    waiting.get(number)?.(pieces);
    waiting.delete(number);
  };
  worker.onerror = end;
  return worker;
}

/** Return code as `[class, text]`, null where it stays as it is. The pieces make the same text again. */
async function coloured(text, language) {
  if (text.length > LONGEST) return null;
  const number = ++asked;
  started().postMessage({ number, text, language });
  const pieces = await new Promise((resolve) => {
    const timer = setTimeout(end, PATIENCE_MS); // some texts take the rules of a language very long
    waiting.set(number, (given) => (clearTimeout(timer), resolve(given)));
  });
  const isSame = pieces?.map(([, part]) => part).join("") === text;
  return isSame && pieces.length <= MOST_PIECES ? pieces.map(([name, part]) => [CLASS.test(name) ? name : "", part]) : null;
}

/** Return the lines of a file, each as `[class, text]`, null where it has no colours. */
export async function colouredLines(text, language) {
  const pieces = await coloured(text, language);
  if (!pieces) return null;
  const lines = [[]];
  for (const [name, part] of pieces) {
    const [first, ...others] = part.split("\n");
    lines.at(-1).push([name, first]);
    for (const one of others) lines.push([[name, one]]);
  }
  return lines;
}

/** Give the blocks of code below an element their colours. `textNodes` makes the nodes of a stranger's text. */
export async function colour(box, textNodes) {
  for (const code of box.querySelectorAll("pre > code[data-language]")) {
    if (code.querySelector("mark")) continue; // its hidden characters are marked, which says more than colours
    const text = code.textContent;
    const pieces = await coloured(text, code.dataset.language);
    if (!pieces || !code.isConnected) continue;
    code.replaceChildren(...pieces.map(([name, part]) => {
      const made = document.createElement("span");
      if (name) made.className = name;
      made.append(...textNodes(part));
      return made;
    }));
  }
}
