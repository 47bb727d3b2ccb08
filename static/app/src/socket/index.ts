/** The one socket of this browser tab. Features listen to frames here and send through it. */
export { socket } from "./instance";
export { useLinkStatus } from "./status";
export type { LinkStatus } from "./link";
export type { ChatOut, Frame, LogMessage, OutFrame, QueueItem, Snapshot, WireUsage } from "./frames";
