/** Finds the words of code that have a colour, beside the page: a text that takes long keeps nobody waiting. */

import hljs from "../../vendor/highlight-11.12.0/highlight.min.js";

const MARKUP = /<span class="([^"]*)">|<\/span>|&(amp|lt|gt|quot|#x27);|[^<&]+/g;
const CHARACTERS = { amp: "&", lt: "<", gt: ">", quot: '"', "#x27": "'" };

/** Return the highlighter's markup as `[class, text]`, in the order of the text. It is never taken for HTML. */
function piecesOf(markup) {
  const open = [""];
  const pieces = [];
  for (const [whole, opened, character] of markup.matchAll(MARKUP)) {
    if (opened !== undefined) open.push(opened.split(" ")[0]);
    else if (whole === "</span>") open.pop();
    else {
      const text = CHARACTERS[character] ?? whole;
      if (pieces.at(-1)?.[0] === open.at(-1)) pieces.at(-1)[1] += text;
      else pieces.push([open.at(-1), text]);
    }
  }
  return pieces;
}

onmessage = ({ data: { number, text, language } }) => {
  const isKnown = Boolean(hljs.getLanguage(language));
  const pieces = isKnown ? piecesOf(hljs.highlight(text, { language, ignoreIllegals: true }).value) : null;
  postMessage({ number, pieces });
};
