/** Open, close and choose session tabs; write into the composer; tell the server what was seen. */
import { openFolder } from "@/features/workspace";
import { socket } from "@/socket";
import { apply, linked, restored, useChat } from "./state";
import { closed, loadTabs, newId, opened, saveDraft, saveTabs, withDraft } from "./tabs";

const get = useChat.getState;
const set = useChat.setState;

export function openDraft(text?: string): void {
  set((state) => withDraft(state, newId()));
  const { workspace, active } = get();
  if (text !== undefined && workspace !== null) {
    saveDraft(workspace, active, text);
    draftListeners.forEach((listener) => listener(active, text));
  }
  focusComposer();
}

export function openSession(id: string): void {
  set((state) => opened(state, id));
  socket.subscribe(id);
  seenNow();
}

/** By a link: the session may be gone meanwhile, then its tab closes again and says so. */
export function openLinked(workspace: string, id: string): void {
  if (!get().tabs.some((tab) => tab.id === id)) {
    restored.add(id);
    linked.add(id);
  }
  openSessionIn(workspace, id);
  if (workspace !== get().workspace) void openFolder(workspace);
}

/** The same for a session of any workspace: one that is not open finds it when it is opened. */
export function openSessionIn(workspace: string, id: string): void {
  if (workspace === get().workspace) openSession(id);
  else saveTabs(workspace, opened(loadTabs(workspace), id));
}

export function activate(id: string): void {
  set((state) => (state.tabs.some((tab) => tab.id === id) ? { active: id, editing: null } : {}));
  seenNow();
}

/** Close a tab: the session goes on and stays in the list. */
export function closeTab(id: string): void {
  const { workspace } = get();
  const tab = get().tabs.find((one) => one.id === id);
  if (!tab) return;
  if (!tab.draft) socket.unsubscribe(id);
  else if (workspace !== null) saveDraft(workspace, id, "");
  forget(id, false);
}

/** Without the tab and its view. */
export function forget(id: string, unsubscribe = true): void {
  if (unsubscribe) socket.unsubscribe(id);
  set((state) => {
    const { [id]: _gone, ...views } = state.views;
    return { ...closed(state, id, newId()), views };
  });
  seenNow();
}

export function seenNow(): void {
  const { active, views } = get();
  if (views[active]?.unseen && document.visibilityState === "visible") apply(active, { type: "local:unseen", unseen: false });
  reportSeen();
}

const reported = new Map<string, number>();

/** Tell the server how far this person has seen the session on screen; the dot follows the person (DESIGN 13). */
export function reportSeen(): void {
  const { active, views } = get();
  const view = views[active];
  if (!view || view.running || view.seq === 0 || document.visibilityState !== "visible") return;
  if ((reported.get(active) ?? 0) >= view.seq) return;
  reported.set(active, view.seq);
  socket.send({ type: "session:seen", sessionId: active, seq: view.seq });
}

const draftListeners = new Set<(id: string, text: string) => void>();

/** Told when something else (a suggestion, the palette) writes into a draft. */
export function onDraftText(listener: (id: string, text: string) => void): () => void {
  draftListeners.add(listener);
  return () => draftListeners.delete(listener);
}

export function putIntoComposer(id: string, text: string): void {
  draftListeners.forEach((listener) => listener(id, text));
  focusComposer();
}

/** The composer's field, wherever the layout shows it. */
export function focusComposer(): void {
  window.requestAnimationFrame(() => document.getElementById("composer")?.focus());
}
