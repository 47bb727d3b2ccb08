/** Which open sessions a frame belongs to. Pure. Source: spec ws-protocol, frames with `taskId`. */
import type { Frame } from "@/socket/frames";

export const sessionOf = (frame: Frame): string | null => {
  if (frame.type === "state:snapshot") return frame.snapshot.sessionId ?? null;
  return "sessionId" in frame && typeof frame.sessionId === "string" ? frame.sessionId : null;
};

/**
 * The open sessions that show a frame, each with the frame as that session takes it. A sub-agent's frames name the root
 * and, as `taskId`, the sub-agent: its own log takes them as its own, the logs above it as news of a sub-agent.
 */
export function viewersOf(frame: Frame, open: readonly string[]): [string, Frame][] {
  const task = "taskId" in frame && typeof frame.taskId === "string" && frame.taskId !== "" ? frame.taskId : null;
  const id = sessionOf(frame);
  if (task === null) return id !== null && open.includes(id) ? [[id, frame]] : [];
  const viewers: [string, Frame][] = [];
  for (const one of open) {
    if (one === task) viewers.push([one, { ...frame, sessionId: one, taskId: undefined } as Frame]);
    else if (task.startsWith(`${one}>`)) viewers.push([one, frame]);
  }
  return viewers;
}
