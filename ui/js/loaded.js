import { useEffect, useState } from "../vendor/htm-3.1.1/standalone.module.js";

/** Load with a function of an AbortSignal: `{data}`, `{error}`, or `{}` while it is on its way; and `again`. */
export function useLoaded(load, keys) {
  const [state, setState] = useState({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const controller = new AbortController();
    const unless = (then) => (value) => controller.signal.aborted || then(value);
    setState({});
    load(controller.signal).then(
      unless((data) => setState({ data })),
      unless((error) => setState({ error })),
    );
    return () => controller.abort();
  }, [...keys, turn]);
  return { ...state, again: () => setTurn(turn + 1) };
}
