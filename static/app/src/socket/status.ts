import { useSyncExternalStore } from "react";

import { socket } from "./instance";
import type { LinkStatus } from "./link";

let last: LinkStatus = socket.status();
const subscribe = (notify: () => void): (() => void) =>
  socket.onStatus((status) => {
    last = status;
    notify();
  });

/** Phase of the link, since when it is down (ms) and when it tries again (ms): for the banner and the status bar. */
export const useLinkStatus = (): LinkStatus => useSyncExternalStore(subscribe, () => last);
