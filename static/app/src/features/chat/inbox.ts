/** Frames of the socket -> views: collected, and reduced once per animation frame into one store write. */
import i18next from "i18next";

import { openFolder } from "@/features/workspace";
import type { Frame } from "@/socket";
import { newView, type View } from "./model";
import { dropFromOutbox } from "./outbox";
import { reduceView } from "./reducer";
import { sessionOf, viewersOf } from "./routing";
import { apply, linked, restored, useChat } from "./state";
import { forget, openSession, reportSeen } from "./tabActions";
import { started } from "./tabs";
import { refreshTitlesSoon } from "./titles";

const get = useChat.getState;
const set = useChat.setState;

let inbox: Frame[] = [];
let scheduled: { kind: "frame" | "timer"; id: number } | null = null;

/** Hidden pages get no animation frames; there a timer does, so that nothing piles up. */
function schedule(): void {
  if (scheduled !== null) return;
  scheduled =
    document.visibilityState === "hidden"
      ? { kind: "timer", id: window.setTimeout(flush, 200) }
      : { kind: "frame", id: window.requestAnimationFrame(flush) };
}

export function reschedule(): void {
  if (scheduled === null) return;
  if (scheduled.kind === "frame") window.cancelAnimationFrame(scheduled.id);
  else window.clearTimeout(scheduled.id);
  scheduled = null;
  schedule();
}

function flush(): void {
  scheduled = null;
  const frames = inbox;
  inbox = [];
  if (frames.length === 0) return;
  set((state) => {
    const now = Date.now();
    const views: Record<string, View> = { ...state.views };
    for (const frame of frames) {
      for (const [id, own] of viewersOf(frame, state.tabs.map((tab) => tab.id))) {
        views[id] = reduceView(views[id] ?? newView(id), own, now);
      }
    }
    const active = views[state.active];
    if (active?.unseen && document.visibilityState === "visible") views[state.active] = { ...active, unseen: false };
    return { views };
  });
  beginDrafts(frames);
  dropVanished(frames);
  for (const frame of frames) if (frame.type === "chat:complete" && !("taskId" in frame && frame.taskId)) expectNext(frame.sessionId);
  reportSeen();
}

export function onFrame(frame: Frame): void {
  switch (frame.type) {
    case "session:switched":
      return openSession(frame.sessionId);
    case "workspace:switched":
      return void openFolder(frame.path);
    case "session:deleted":
      return forget(frame.sessionId);
    case "session:changed":
      return refreshTitlesSoon();
    case "error":
      if (frame.sessionId === undefined && !("clientMsgId" in frame && frame.clientMsgId)) {
        set({ trouble: { text: frame.error, at: Date.now() } });
        return;
      }
      if ("clientMsgId" in frame && frame.clientMsgId) {
        dropFromOutbox(frame.clientMsgId);
        const id = frame.sessionId ?? sessionOfPending(frame.clientMsgId);
        if (id) apply(id, { type: "local:failed", clientMsgId: frame.clientMsgId, reason: frame.error });
        return;
      }
      takeBackDeletion(frame.sessionId, frame.seq);
  }
  inbox.push(frame);
  schedule();
}

/** An answer without `seq` right after a deletion refuses it: the message is there again. */
function takeBackDeletion(sessionId: string | undefined, seq: number | undefined): void {
  const { undo } = get();
  if (!undo || undo.sessionId !== sessionId || seq !== undefined) return;
  set({ undo: null });
  apply(undo.sessionId, { type: "local:delete", entryId: undo.entryId, deleted: false });
}

/** A round ended with messages waiting: the next one begins at once, or somebody stopped the run. */
const NEXT_ROUND = 3000; // ms

function expectNext(id: string): void {
  if (!get().views[id]?.between) return;
  window.setTimeout(() => get().views[id] && apply(id, { type: "local:idle" }), NEXT_ROUND);
}

export const sessionOfPending = (clientMsgId: string): string | undefined =>
  Object.values(get().views).find((view) => view.pending.some((item) => item.clientMsgId === clientMsgId))?.sessionId;

/** A remembered tab whose session is gone (empty snapshot, nothing sent from here) closes without a word. */
function dropVanished(frames: readonly Frame[]): void {
  for (const frame of frames) {
    if (frame.type !== "state:snapshot") continue;
    const id = frame.snapshot.sessionId;
    const view = id ? get().views[id] : undefined;
    if (!id || !view || !restored.has(id)) continue;
    restored.delete(id);
    const empty = view.past.length + view.live.length + view.pending.length + view.queue.length === 0;
    // A session that exists has been run or has at least its first message.
    if (!empty || view.running || (frame.snapshot.seq ?? 0) !== 0) continue;
    forget(id);
    if (linked.delete(id)) set({ target: null, trouble: { text: i18next.t("chat:load.gone"), at: Date.now() } });
  }
}

/** A command set the agent of a draft to work: it is a session now. */
function beginDrafts(frames: readonly Frame[]): void {
  for (const frame of frames) {
    const begun = frame.type === "chat:user" || (frame.type === "state:snapshot" && (frame.snapshot.running || frame.snapshot.queue?.length || frame.snapshot.recentMessages.length));
    const id = begun ? sessionOf(frame) : null;
    if (id !== null && get().tabs.some((tab) => tab.id === id && tab.draft)) set((state) => started(state, id));
  }
}

/** Forget frames that were not reduced yet: the workspace is left. */
export function emptyInbox(): void {
  inbox = [];
}
