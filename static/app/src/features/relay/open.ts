import { openFolder } from "@/features/workspace";
import { openSessionIn } from "@/shell/chatPort";
import type { End } from "./sides";

/** Show a session, with its folder when that is another one than `here`. */
export function openEnd(end: End, here: string): void {
  openSessionIn(end.workspace, end.sessionId);
  if (end.workspace !== here) void openFolder(end.workspace);
}
