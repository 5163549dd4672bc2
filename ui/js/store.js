import { useEffect, useState } from "../vendor/htm-3.1.1/standalone.module.js";

/** Return a value that components can read and be drawn anew by: `get`, `set`, and the hook `use`. */
export function store(value) {
  const readers = new Set();
  const get = () => value;
  const set = (next) => {
    value = next;
    for (const read of readers) read(() => value);
  };
  /** Use the value, or the part of it that `pick` takes: only a change of that part draws anew. */
  const use = (pick = (whole) => whole) => {
    const [, draw] = useState(() => pick(value));
    useEffect(() => {
      const read = () => draw(() => pick(value));
      readers.add(read);
      read();
      return () => readers.delete(read);
    }, []);
    return pick(value);
  };
  return { get, set, use };
}
