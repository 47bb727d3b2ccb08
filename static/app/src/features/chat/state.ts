/** What the chat knows: tabs, one view per session, preferences. Only the reducer changes a view. */
import { create } from "zustand";
import { useShallow } from "zustand/react/shallow";

import { storage } from "@/shared/storage";
import type { Frame } from "@/socket";
import type { Agent } from "./api";
import { busy, newView, type View } from "./model";
import { reduceView, type Local } from "./reducer";
import { parentOf, rootOf, type Tabs } from "./tabs";

export interface Trouble {
  text: string;
  at: number;
}

export interface Undo {
  sessionId: string;
  entryId: number;
  until: number;
}

/** A message a person wants to see: it is looked for in older windows until it is there. */
export interface Target {
  workspace: string;
  sessionId: string;
  entryId: number;
  terms: readonly string[]; // to mark in it
  asked: boolean; // the log was asked for again, as it may be among rows without an entry id
}

/** A message that was looked for and is shown. */
export interface Found {
  sessionId: string;
  key: string; // of its row
  terms: readonly string[];
}

/** A fork waits for a yes. Text that was just streamed has no entry yet: then its model call names it. */
export interface Forking {
  sessionId: string;
  entryId?: number;
  turnId?: string;
  words: string; // first words of the message it ends with
}

export interface ChatState extends Tabs {
  workspace: string | null;
  views: Readonly<Record<string, View>>;
  titles: Readonly<Record<string, string>>;
  agents: readonly Agent[] | null; // null = not loaded yet
  agentsError: string | null;
  wishedAgent: string | null; // a manual choice stays for later drafts
  showUsage: boolean;
  liveThinking: boolean;
  loadingOlder: Readonly<Record<string, "loading" | "failed">>;
  trouble: Trouble | null; // an answer of the server that belongs to no session
  undo: Undo | null;
  editing: { sessionId: string; entryId: number } | null; // a queued message is in the composer
  finding: string | null; // session in which a person looks for words
  target: Target | null;
  found: Found | null;
  forking: Forking | null;
}

const flag = (key: string, fallback: boolean): boolean => {
  const value = storage.get(key);
  return value === null ? fallback : value === "1";
};

export const useChat = create<ChatState>()(() => ({
  workspace: null,
  tabs: [],
  active: "",
  views: {},
  titles: {},
  agents: null,
  agentsError: null,
  wishedAgent: storage.get("halo_agent"),
  showUsage: flag("halo_chat_usage", true),
  liveThinking: flag("halo_chat_thinking", false),
  loadingOlder: {},
  trouble: null,
  undo: null,
  editing: null,
  finding: null,
  target: null,
  found: null,
  forking: null,
}));

const set = useChat.setState;

// ---- views -------------------------------------------------------------------------------------------------------

/** The view of a session; always the same empty one for a session nobody has said anything of. */
export const viewOf = (state: ChatState, id: string): View => state.views[id] ?? emptyView(id);

export function apply(id: string, ...inputs: (Frame | Local)[]): void {
  set((state) => {
    const now = Date.now();
    const before = viewOf(state, id);
    const view = inputs.reduce((current, input) => reduceView(current, input, now), before);
    return view === before && state.views[id] ? {} : { views: { ...state.views, [id]: view } };
  });
}

/** Tabs that come from storage or from a link: only these may turn out to be gone. */
export const restored = new Set<string>();
/** Those of a link: a person waits for them, so it is said when they are gone. */
export const linked = new Set<string>();

/** The agent of a session: of its row, else the wish, else the one with the highest priority. */
export function agentOf(state: ChatState, id: string): string | null {
  const view = state.views[id];
  if (view?.agentId && !state.tabs.find((tab) => tab.id === id)?.draft) return view.agentId;
  const offered = state.agents ?? [];
  return offered.find((agent) => agent.id === state.wishedAgent)?.id ?? offered[0]?.id ?? null;
}

const firstWords = (view: View | undefined): string | null => {
  const first = view?.past.find((item) => item.kind === "user") ?? view?.live.find((item) => item.kind === "user") ?? view?.pending[0];
  if (first?.kind !== "user") return null;
  const line = first.text.trim().split("\n", 1)[0]!;
  return line.length > 48 ? `${line.slice(0, 48)}…` : line;
};

/** Null = nothing said yet. A sub-agent's session is called by its agent. */
export const titleOf = (state: ChatState, id: string): string | null =>
  state.titles[id] ?? (parentOf(id) === null ? firstWords(state.views[id]) : subAgentName(state, id));

const subAgentName = (state: ChatState, id: string): string | null =>
  state.views[id]?.agentName || state.views[rootOf(id)]?.agents.find((agent) => agent.taskId === id)?.name || null;

/** The session on screen; null while a draft is. */
export const useActiveSession = (): string | null =>
  useChat((state) => (state.tabs.find((tab) => tab.id === state.active)?.draft === false ? state.active : null));

export const useRunningSessions = (): readonly string[] =>
  useChat(useShallow((state) => state.tabs.filter((tab) => busy(viewOf(state, tab.id))).map((tab) => tab.id)));

export const useUnseenSessions = (): readonly string[] =>
  useChat(useShallow((state) => state.tabs.filter((tab) => state.views[tab.id]?.unseen).map((tab) => tab.id)));

export const useView = (id: string): View => useChat((state) => viewOf(state, id));

const empties = new Map<string, View>();
function emptyView(id: string): View {
  const known = empties.get(id) ?? newView(id);
  empties.set(id, known);
  return known;
}
