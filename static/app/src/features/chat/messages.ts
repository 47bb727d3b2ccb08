/** What a person does with messages: send, stop, queue, delete, take back. Each is a frame and a local change. */
import i18next from "i18next";

import { ledNow } from "@/features/goal";
import { socket, type ChatOut } from "@/socket";
import { parseLine } from "./commands";
import { busy, type LocalImage, type UserItem } from "./model";
import { dropFromOutbox, keepInOutbox } from "./outbox";
import { agentOf, apply, restored, useChat, viewOf, type ChatState } from "./state";
import { openDraft } from "./tabActions";
import { started } from "./tabs";

const get = useChat.getState;
const set = useChat.setState;

const sentListeners = new Set<(id: string) => void>();

/** Told when this tab sends a message: its log goes to the end. */
export function onSent(listener: (id: string) => void): () => void {
  sentListeners.add(listener);
  return () => sentListeners.delete(listener);
}

export const pendingItem = (clientMsgId: string, text: string, images: readonly LocalImage[]): UserItem => ({
  kind: "user",
  key: `client:${clientMsgId}`,
  at: Date.now(),
  text,
  state: "sending",
  clientMsgId,
  ...(images.length > 0 ? { images } : {}),
});

/** A slash command: a new session is a draft of this page, everything else is the server's. False = a message. */
function command(id: string, text: string): boolean {
  const line = parseLine(text);
  const { workspace } = get();
  if (line === null || workspace === null) return false;
  if (/^\/(clear|session\s+new)\s*$/.test(text)) {
    openDraft();
    return true;
  }
  apply(id, { type: "local:command", command: { key: `command:${crypto.randomUUID()}`, line: text.trim() } });
  const agentId = agentOf(get(), id);
  const lang = i18next.language.toLowerCase().startsWith("zh") ? "zh" : "en";
  socket.send({ type: `command:${line.name}`, message: line.rest, sessionId: id, projectId: workspace, lang, ...(agentId ? { agentId } : {}) });
  sentListeners.forEach((listener) => listener(id));
  return true;
}

export function send(id: string, text: string, images: readonly LocalImage[] = [], interrupt = false): void {
  const { workspace } = get();
  if (workspace === null || (images.length === 0 && command(id, text))) return;
  if (ledNow(id)) {
    set({ trouble: { text: i18next.t("goal:locked"), at: Date.now() } });
    return;
  }
  const clientMsgId = `c-${crypto.randomUUID()}`;
  const message = text === "" ? "(image)" : text;
  const agentId = agentOf(get(), id);
  const tab = get().tabs.find((one) => one.id === id);
  const frame: ChatOut = {
    type: "chat",
    sessionId: id,
    projectId: workspace,
    message,
    clientMsgId,
    ...(tab?.draft && agentId ? { agentId } : {}),
    ...(images.length > 0 ? { images: images.map((image) => ({ id: image.id })) } : {}),
  };
  set((state) => started(state, id));
  restored.delete(id);
  apply(id, { type: "local:send", item: pendingItem(clientMsgId, message, images) });
  keepInOutbox(frame);
  socket.chat(frame);
  sentListeners.forEach((listener) => listener(id));
  if (interrupt && busy(viewOf(get(), id))) socket.send({ type: "chat:interrupt", sessionId: id });
}

/** Send a failed message again with its old id: had it arrived after all, it stays one message. */
export function sendAgain(id: string, item: UserItem): void {
  const { workspace } = get();
  if (workspace === null || !item.clientMsgId) return;
  apply(id, { type: "local:resend", clientMsgId: item.clientMsgId });
  const frame: ChatOut = {
    type: "chat",
    sessionId: id,
    projectId: workspace,
    message: item.text,
    clientMsgId: item.clientMsgId,
    ...(item.images ? { images: item.images.map((image) => ({ id: image.id })) } : {}),
  };
  keepInOutbox(frame);
  socket.chat(frame);
}

export function discard(id: string, clientMsgId: string): void {
  socket.forgetChat(clientMsgId);
  dropFromOutbox(clientMsgId);
  apply(id, { type: "local:discard", clientMsgId });
}

export const stop = (id: string): void => socket.send({ type: "chat:stop", sessionId: id });
export const interrupt = (id: string): void => socket.send({ type: "chat:interrupt", sessionId: id });

export function removeQueued(id: string, entryId: number): void {
  apply(id, { type: "local:removing", entryId });
  socket.send({ type: "queue:remove", sessionId: id, entryId });
}

export const editQueued = (id: string, entryId: number, text: string): void =>
  socket.send({ type: "queue:edit", sessionId: id, entryId, text });

export const moveQueued = (id: string, entryId: number, before: number | null): void =>
  socket.send({ type: "queue:move", sessionId: id, entryId, before });

export const setEditing = (editing: ChatState["editing"]): void => set({ editing });

/** How long a deletion can be taken back, in ms. */
export const UNDO_FOR = 8000;

export function deleteExchange(id: string, entryId: number): void {
  const { workspace } = get();
  if (workspace === null) return;
  apply(id, { type: "local:delete", entryId, deleted: true });
  set({ undo: { sessionId: id, entryId, until: Date.now() + UNDO_FOR } });
  socket.send({ type: "exchange:delete", sessionId: id, entryId, projectId: workspace });
}

export function restoreExchange(id: string, entryId: number): void {
  const { workspace } = get();
  if (workspace === null) return;
  apply(id, { type: "local:delete", entryId, deleted: false });
  set({ undo: null });
  socket.send({ type: "exchange:restore", sessionId: id, entryId, projectId: workspace });
}

export const clearUndo = (): void => set({ undo: null });
export const clearTrouble = (): void => set({ trouble: null });

/** Ask for a session's log again (slow network, failed load). */
export function reload(id: string): void {
  const { workspace } = get();
  if (workspace !== null) socket.send({ type: "subscribe", sessionId: id, projectId: workspace });
}
