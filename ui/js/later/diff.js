/** What two texts differ in, line by line (E. Myers, "An O(ND) Difference Algorithm", 1986). No browser here. */

const MOST_LINES = 10_000;
const MOST_CHANGES = 500; // the cost grows with lines times changes: this many of both take some 10 ms
const AROUND = 3;

/** Return the lines of a text; its last line break ends a line and begins none. */
function linesOf(text) {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Return lines as numbers, equal ones for equal lines. */
function numbered(lines, known) {
  return Int32Array.from(lines, (line) => {
    if (!known.has(line)) known.set(line, known.size);
    return known.get(line);
  });
}

/** Return how far each path has come at every number of changes, null where there are too many. */
function traceOf(a, b) {
  const trace = [];
  const most = Math.min(MOST_CHANGES, a.length + b.length);
  let far = new Int32Array(2 * most + 3);
  for (let changes = 0; changes <= most; changes += 1) {
    trace.push(far.slice(most + 1 - changes - 1, most + 1 + changes + 2));
    for (let k = -changes; k <= changes; k += 2) {
      const at = most + 1 + k;
      const isDown = k === -changes || (k !== changes && far[at - 1] < far[at + 1]);
      let x = isDown ? far[at + 1] : far[at - 1] + 1;
      while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
      far[at] = x;
      if (x >= a.length && x - k >= b.length) return trace;
    }
  }
  return null;
}

/** Return the steps from the first text to the second: `[kind, line of a, line of b]`, `kind` being " ", "-" or "+". */
function steps(a, b, trace) {
  const found = [];
  let [x, y] = [a.length, b.length];
  for (let changes = trace.length - 1; changes >= 0; changes -= 1) {
    const far = (k) => trace[changes][k + changes + 1];
    const k = x - y;
    const isDown = k === -changes || (k !== changes && far(k - 1) < far(k + 1));
    const before = isDown ? k + 1 : k - 1;
    const from = changes === 0 ? 0 : far(before);
    while (x > Math.max(from, 0) && y > Math.max(from - before, 0) && a[x - 1] === b[y - 1]) found.push([" ", --x, --y]);
    if (changes === 0) break;
    if (isDown) found.push(["+", x, --y]);
    else found.push(["-", --x, y]);
  }
  return found.reverse();
}

/** Return the steps in groups, each with the lines around a change. */
function grouped(all) {
  const shown = new Uint8Array(all.length);
  all.forEach(([kind], index) => {
    if (kind !== " ") shown.fill(1, Math.max(0, index - AROUND), index + AROUND + 1);
  });
  const groups = [];
  for (let index = 0; index < all.length; index += 1) {
    if (!shown[index]) continue;
    if (!shown[index - 1]) groups.push([]);
    groups.at(-1).push(all[index]);
  }
  return groups;
}

/**
 * Return `{added, removed, hunks}`: how many lines, and groups `{before, after, lines: [kind, text]}` that begin at these
 * lines of the two texts, from 1. Null for texts that are too long or too different to be shown so.
 */
export function diff(before, after) {
  const [first, second] = [linesOf(before), linesOf(after)];
  if (first.length + second.length > MOST_LINES) return null;
  const known = new Map();
  const [a, b] = [numbered(first, known), numbered(second, known)];
  const trace = traceOf(a, b);
  if (!trace) return null;
  const all = steps(a, b, trace);
  const number = (kind) => all.filter((step) => step[0] === kind).length;
  const hunks = grouped(all).map((group) => ({
    before: group[0][1] + 1,
    after: group[0][2] + 1,
    lines: group.map(([kind, x, y]) => [kind, kind === "+" ? second[y] : first[x]]),
  }));
  return { added: number("+"), removed: number("-"), hunks };
}

/** Return what became of each file between two lists `[{path, size, sha256}]`, without those that are the same. */
export function changedFiles(before, after) {
  const old = new Map(before.map((file) => [file.path, file]));
  const added = [];
  const changed = [];
  for (const file of after) {
    const known = old.get(file.path);
    old.delete(file.path);
    if (!known) added.push(file);
    else if (known.sha256 !== file.sha256) changed.push({ kind: "changed", path: file.path, from: known, to: file });
  }
  const gone = new Map([...old.values()].map((file) => [file.sha256, file]));
  for (const file of added) {
    const moved = gone.get(file.sha256);
    if (moved && old.delete(moved.path)) changed.push({ kind: "moved", path: file.path, from: moved, to: file });
    else changed.push({ kind: "added", path: file.path, from: null, to: file });
  }
  for (const file of old.values()) changed.push({ kind: "removed", path: file.path, from: file, to: null });
  return changed.sort((a, b) => (a.path < b.path ? -1 : 1));
}
