/** The open tabs of a workspace: pure moves over a small list, and how they are remembered. */
import { storage } from "@/shared/storage";

export interface Tab {
  id: string; // session id; made here for a draft
  draft: boolean; // nothing of it is on the server yet
}

export interface Tabs {
  tabs: readonly Tab[];
  active: string;
}

/** Session ids of sub-agents are `root>child`, deeper ones `root>child>grandchild`. */
export const parentOf = (id: string): string | null => (id.includes(">") ? id.slice(0, id.lastIndexOf(">")) : null);
export const rootOf = (id: string): string => id.split(">", 1)[0]!;

const tabsKey = (workspace: string): string => `halo_chat_tabs_${workspace}`;
const sessionKey = (workspace: string): string => `halo_session_${workspace}`;
const draftKey = (workspace: string, id: string): string => `halo_draft_${workspace}_${id}`;
const mentionsKey = (workspace: string, id: string): string => `halo_mentions_${workspace}_${id}`;

/** A fresh session id: time first, so that ids sort by age; letters and digits only. */
export function newId(now = Date.now()): string {
  const random = crypto.getRandomValues(new Uint8Array(8));
  return `sid_${now.toString(36)}${[...random].map((byte) => (byte % 36).toString(36)).join("")}`;
}

export function withDraft(state: Tabs, id: string): Tabs {
  // One draft at a time is enough: a second + leads to the first.
  const draft = state.tabs.find((tab) => tab.draft);
  if (draft) return { ...state, active: draft.id };
  return { tabs: [...state.tabs, { id, draft: true }], active: id };
}

export function opened(state: Tabs, id: string): Tabs {
  if (state.tabs.some((tab) => tab.id === id)) return { ...state, active: id };
  const tabs = [...state.tabs, { id, draft: false }];
  return { tabs, active: id };
}

/** Without this tab; its right neighbour comes forward, else the left one; the last one leaves a draft behind. */
export function closed(state: Tabs, id: string, draftId: string): Tabs {
  const place = state.tabs.findIndex((tab) => tab.id === id);
  if (place < 0) return state;
  const tabs = state.tabs.filter((tab) => tab.id !== id);
  if (tabs.length === 0) return { tabs: [{ id: draftId, draft: true }], active: draftId };
  const active = state.active === id ? tabs[Math.min(place, tabs.length - 1)]!.id : state.active;
  return { tabs, active };
}

export const started = (state: Tabs, id: string): Tabs => ({
  ...state,
  tabs: state.tabs.map((tab) => (tab.id === id ? { id, draft: false } : tab)),
});

const isTabs = (value: unknown): value is Tabs => {
  const maybe = value as { tabs?: unknown; active?: unknown } | null;
  return (
    typeof maybe === "object" &&
    maybe !== null &&
    typeof maybe.active === "string" &&
    Array.isArray(maybe.tabs) &&
    maybe.tabs.every(
      (tab: unknown) =>
        typeof tab === "object" && tab !== null && typeof (tab as Tab).id === "string" && typeof (tab as Tab).draft === "boolean",
    )
  );
};

export function loadTabs(workspace: string): Tabs {
  const none: Tabs = { tabs: [], active: "" };
  const state = storage.getJson(tabsKey(workspace), none, isTabs);
  const tabs = state.tabs.slice(0, 60); // a socket carries 64 subscriptions
  if (tabs.length === 0) return withDraft(none, newId());
  return { tabs, active: tabs.some((tab) => tab.id === state.active) ? state.active : tabs[0]!.id };
}

export function saveTabs(workspace: string, state: Tabs): void {
  storage.setJson(tabsKey(workspace), { tabs: state.tabs, active: state.active });
  storage.set(sessionKey(workspace), state.active);
}

export const loadDraft = (workspace: string, id: string): string => storage.get(draftKey(workspace, id)) ?? "";

export function saveDraft(workspace: string, id: string, text: string): void {
  if (text === "") storage.remove(draftKey(workspace, id));
  else storage.set(draftKey(workspace, id), text);
}

const isPaths = (value: unknown): value is string[] => Array.isArray(value) && value.every((one) => typeof one === "string");

/** Files named in the draft of a tab. */
export const loadMentions = (workspace: string, id: string): string[] => storage.getJson(mentionsKey(workspace, id), [], isPaths);

export function saveMentions(workspace: string, id: string, paths: readonly string[]): void {
  if (paths.length === 0) storage.remove(mentionsKey(workspace, id));
  else storage.setJson(mentionsKey(workspace, id), paths);
}
