/** Whether a frame says that the list of agents or skills may be another: changed in the app, or a file of the folder. */
import type { Frame } from "./frames";

export const isNewsOf = (kind: "agents" | "skills", frame: Frame): boolean =>
  frame.type === `${kind}:changed` || (frame.type === "file:changed" && `${frame.path}/`.startsWith(`.halo/${kind}/`));
