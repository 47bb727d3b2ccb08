/**
 * Messages on their way, kept for this browser tab: a reload in the seconds between Enter and the ack loses nothing.
 * They go out again with the same clientMsgId, so a message that did arrive stays one message.
 */
import { tabStorage } from "@/shared/storage";
import type { ChatOut } from "@/socket";

const KEY = "halo_outbox";

const isOutbox = (value: unknown): value is ChatOut[] =>
  Array.isArray(value) &&
  value.every(
    (item: unknown) =>
      typeof item === "object" &&
      item !== null &&
      ["sessionId", "projectId", "message", "clientMsgId"].every(
        (key) => typeof (item as Record<string, unknown>)[key] === "string",
      ),
  );

const all = (): ChatOut[] => tabStorage.getJson(KEY, [], isOutbox);

export const loadOutbox = (workspace: string): ChatOut[] => all().filter((frame) => frame.projectId === workspace);

export function keepInOutbox(frame: ChatOut): void {
  tabStorage.setJson(KEY, [...all().filter((other) => other.clientMsgId !== frame.clientMsgId), frame].slice(-100));
}

export function dropFromOutbox(clientMsgId: string): void {
  tabStorage.setJson(KEY, all().filter((frame) => frame.clientMsgId !== clientMsgId));
}
