/** How an end of a handed-on task is named, and which end to open: pure. */
import type { Dispatch } from "@/api/relay";

type Side = Dispatch["caller"];

/** A session that can be opened. */
export interface End {
  workspace: string;
  sessionId: string;
}

export const folderOf = (path: string): string => path.split("/").filter(Boolean).at(-1) ?? path;

export const titleOf = (side: Side, hidden: string): string => side.title || side.sessionId || hidden;

/** null = the person may not enter. */
export const endOf = ({ workspace, sessionId }: Side): End | null => (workspace !== null && sessionId !== null ? { workspace, sessionId } : null);

/** Title and, elsewhere, folder. `hidden` is said of a workspace the person may not enter. */
export function nameOf(side: Side, here: string, hidden: string): string {
  if (side.workspace === null) return hidden;
  const title = titleOf(side, hidden);
  return side.workspace === here ? title : `${title} (${folderOf(side.workspace)})`;
}

/** The end a person wants to see from this workspace; null = they may not. */
export function otherEnd(dispatch: Dispatch, here: string): End | null {
  return endOf(dispatch.caller.workspace === here ? dispatch.target : dispatch.caller);
}
