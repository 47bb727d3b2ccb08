/** Look further back in a session: older windows, find, and rows a person wants to see. */
import { LARGEST_WINDOW, olderEntries, WINDOW } from "./api";
import { itemsOf } from "./log";
import { apply, useChat } from "./state";
import { openLinked } from "./tabActions";

const get = useChat.getState;
const set = useChat.setState;

export async function loadOlder(id: string, limit = WINDOW): Promise<void> {
  const { workspace, views, loadingOlder } = get();
  const view = views[id];
  if (workspace === null || !view?.hasMore || loadingOlder[id] === "loading") return;
  set({ loadingOlder: { ...loadingOlder, [id]: "loading" } });
  try {
    const window = await olderEntries(workspace, id, view.before, limit);
    apply(id, { type: "local:older", items: itemsOf(window.messages), hasMore: window.hasMore, before: window.before });
    set((state) => {
      const { [id]: _done, ...rest } = state.loadingOlder;
      return { loadingOlder: rest };
    });
  } catch {
    set((state) => ({ loadingOlder: { ...state.loadingOlder, [id]: "failed" } }));
  }
}

export function openFind(): void {
  set((state) => ({ finding: state.active, found: null }));
  window.requestAnimationFrame(() => document.querySelector<HTMLInputElement>(".chat-find input")?.select());
}

export const closeFind = (): void => set({ finding: null });

const rowListeners = new Set<(id: string, key: string) => void>();

/** Told which row of a session a person wants to see. */
export function onShowRow(listener: (id: string, key: string) => void): () => void {
  rowListeners.add(listener);
  return () => rowListeners.delete(listener);
}

export const showRow = (id: string, key: string): void => rowListeners.forEach((listener) => listener(id, key));

/** Show one message of a session of any workspace, with these words marked. Older windows are loaded until it is there. */
export function openEntry(workspace: string, sessionId: string, entryId: number, terms: readonly string[] = []): void {
  set({ target: { workspace, sessionId, entryId, terms, asked: false }, found: null, finding: null });
  openLinked(workspace, sessionId);
}

/** The way back is long: large windows. */
export const loadTowardsTarget = (id: string): Promise<void> => loadOlder(id, LARGEST_WINDOW);

export const giveUpTarget = (): void => set({ target: null });
export const clearFound = (): void => set({ found: null });

/** Rows kept in memory at the end of a log when nobody looks further up. */
export const KEEP_ROWS = 400;

export const trimLog = (id: string): void => apply(id, { type: "local:trim", keep: KEEP_ROWS });
