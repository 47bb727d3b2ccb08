/** Everything the chat knows and does, in one place for its parts; and how it begins and ends in a workspace. */
import i18next from "i18next";

import { storage } from "@/shared/storage";
import { socket, type ChatOut } from "@/socket";
import { listAgents } from "./api";
import { announceFinish, finished } from "./chime";
import { emptyInbox, onFrame, reschedule, sessionOfPending } from "./inbox";
import { keepWindow, keptView } from "./lastWindow";
import { pendingItem } from "./messages";
import type { View } from "./model";
import { dropFromOutbox, loadOutbox } from "./outbox";
import { apply, restored, titleOf, useChat } from "./state";
import { openSession, seenNow } from "./tabActions";
import { loadDraft, loadTabs, saveDraft, saveTabs, started, type Tab } from "./tabs";
import { refreshTitlesSoon } from "./titles";

export * from "./forks";
export * from "./history";
export * from "./messages";
export * from "./state";
export * from "./tabActions";
export { loadDraft, saveDraft, type Tab };

const get = useChat.getState;
const set = useChat.setState;

/** What the log showed before a reload is there at once; the snapshot that follows takes its place. */
function firstViews(workspace: string, active: string): Record<string, View> {
  const view = keptView(workspace, active);
  return view ? { [active]: view } : {};
}

/** Show the chat of a workspace. Returns the way to leave it. */
export function attachChat(workspace: string): () => void {
  const tabs = loadTabs(workspace);
  let connected = socket.status().phase === "open";
  restored.clear();
  for (const tab of tabs.tabs) if (!tab.draft) restored.add(tab.id);
  set({
    ...tabs, workspace, views: firstViews(workspace, tabs.active), titles: {}, agents: null, agentsError: null, loadingOlder: {}, trouble: null, undo: null, editing: null,
  });
  saveTabs(workspace, tabs); // a first draft was made just now: what is written in it is found again by its id
  for (const tab of tabs.tabs) if (!tab.draft) socket.subscribe(tab.id);
  for (const frame of loadOutbox(workspace)) resume(frame);
  const stops = [
    socket.onFrame(onFrame),
    socket.onDelivery((news) => {
      const id = sessionOfPending(news.clientMsgId);
      dropFromOutbox(news.clientMsgId);
      if (!id) return;
      if (news.kind === "acked") apply(id, { type: "local:acked", clientMsgId: news.clientMsgId, entryId: news.entryId });
      else apply(id, { type: "local:failed", clientMsgId: news.clientMsgId });
    }),
    socket.onConnected(() => {
      refreshTitlesSoon();
      void refreshAgents();
    }),
    socket.onStatus(({ phase }) => {
      const lost = connected && phase !== "open";
      connected = phase === "open";
      if (lost) for (const id of Object.keys(get().views)) apply(id, { type: "local:lost" });
    }),
    useChat.subscribe((state, before) => {
      for (const id of finished(before.views, state.views)) {
        announceFinish(titleOf(state, id) ?? "", i18next.t("chat:say.finished", { agent: state.views[id]?.agentName || "Halo" }), () => openSession(id));
      }
      if (state.workspace === workspace && (state.tabs !== before.tabs || state.active !== before.active)) {
        saveTabs(workspace, state);
      }
    }),
  ];
  const onVisibility = (): void => {
    reschedule();
    seenNow();
  };
  document.addEventListener("visibilitychange", onVisibility);
  const onLeave = (): void => keepWindow(workspace, get().views[get().active]);
  window.addEventListener("pagehide", onLeave);
  refreshTitlesSoon(); // the link may stand already
  void refreshAgents();
  return () => {
    document.removeEventListener("visibilitychange", onVisibility);
    window.removeEventListener("pagehide", onLeave);
    for (const stop of stops) stop();
    for (const tab of get().tabs) socket.unsubscribe(tab.id);
    emptyInbox();
    set({ workspace: null, tabs: [], active: "", views: {} });
  };
}

/** A message that was on its way when the page was left: show it and send it again. */
function resume(frame: ChatOut): void {
  set((state) => (state.tabs.some((tab) => tab.id === frame.sessionId) ? started(state, frame.sessionId) : { tabs: [...state.tabs, { id: frame.sessionId, draft: false }] }));
  restored.delete(frame.sessionId);
  apply(frame.sessionId, { type: "local:send", item: pendingItem(frame.clientMsgId, frame.message, []) });
  socket.chat(frame);
}

export async function refreshAgents(): Promise<void> {
  const { workspace } = get();
  if (workspace === null) return;
  try {
    const agents = await listAgents(workspace);
    if (get().workspace === workspace) set({ agents, agentsError: null });
  } catch (cause) {
    if (get().workspace === workspace) set({ agentsError: cause instanceof Error ? cause.message : String(cause) });
  }
}

export function setShowUsage(on: boolean): void {
  storage.set("halo_chat_usage", on ? "1" : "0");
  set({ showUsage: on });
}

export function setLiveThinking(on: boolean): void {
  storage.set("halo_chat_thinking", on ? "1" : "0");
  set({ liveThinking: on });
}

export function chooseAgent(agentId: string): void {
  storage.set("halo_agent", agentId);
  set({ wishedAgent: agentId });
}
