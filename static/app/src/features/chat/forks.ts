/** Fork a session from a message: ask, copy on the server, open the copy. */
import { forkSession, LARGEST_WINDOW, olderEntries } from "./api";
import { openSession } from "./tabActions";
import { useChat, type Forking } from "./state";
import { refreshTitlesSoon } from "./titles";

export const startFork = (forking: Forking): void => useChat.setState({ forking });
export const cancelFork = (): void => useChat.setState({ forking: null });

/** The entry a fork ends with. Text that was just streamed has none yet: its model call finds it in the newest window. */
async function entryOf(workspace: string, forking: Forking): Promise<number> {
  if (forking.entryId !== undefined) return forking.entryId;
  const { messages } = await olderEntries(workspace, forking.sessionId, null, LARGEST_WINDOW);
  const row = messages.filter((one) => one.turnId === forking.turnId && one.type === "assistant").at(-1);
  return row?.entryId ?? 0; // the server knows no entry 0 and says so
}

/** Throws ApiError with the server's words; then nothing was made. */
export async function fork(forking: Forking): Promise<void> {
  const { workspace } = useChat.getState();
  if (workspace === null) return;
  const id = await forkSession(workspace, forking.sessionId, await entryOf(workspace, forking));
  if (useChat.getState().workspace !== workspace) return;
  cancelFork();
  openSession(id);
  refreshTitlesSoon();
}
