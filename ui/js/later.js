/** Parts of the page that few visits need: each is loaded when it is first shown. */

import { html, useEffect, useState } from "../vendor/htm-3.1.1/standalone.module.js";
import { Failure, Skeletons } from "./states.js";

/** Return a component that stands for the one of this name in a module which `load` imports. */
function later(load, name) {
  let known = null;
  return function Later(props) {
    const [turn, setTurn] = useState(0);
    const [error, setError] = useState(null);
    useEffect(() => {
      let isHere = true;
      if (known) return undefined;
      load().then(
        (module) => ((known = module[name]), isHere && setTurn(turn + 1)),
        () => isHere && setError({ status: 0 }),
      );
      return () => (isHere = false);
    }, []);
    if (known) return html`<${known} ...${props} />`;
    if (error) return html`<${Failure} error=${error} onRetry=${() => location.reload()} />`;
    return html`<${Skeletons} count=${2} />`;
  };
}

export const Admin = later(() => import("./later/admin.js"), "Admin");
export const Publish = later(() => import("./later/publish.js"), "Publish");
export const Upgrade = later(() => import("./later/upgrade.js"), "Upgrade");
export const Version = later(() => import("./later/version.js"), "Version");
export const Deprecate = later(() => import("./later/withdraw.js"), "Deprecate");
export const Waive = later(() => import("./later/withdraw.js"), "Waive");
