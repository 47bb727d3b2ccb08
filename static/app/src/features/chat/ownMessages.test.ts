import { describe, expect, it } from "vitest";

import type { Frame } from "@/socket/frames";
import { newView, type View } from "./model";
import { allItems, reduceView } from "./reducer";

const report: Frame = { type: "chat:user", sessionId: "s", text: "(from: session s>c)\nThree.", entryId: 5, origin: { kind: "report", name: "Helper" } };
const queued = (...ids: number[]): Frame => ({ type: "queue:changed", sessionId: "s", items: ids.map((entryId) => ({ entryId, text: "Three.", origin: "report" })) });
const play = (...frames: Frame[]): View => frames.reduce<View>((view, frame) => reduceView(view, frame, 1), { ...newView("s"), loaded: true });

describe("a report that was queued", () => {
  it.each([
    ["the message first", [report, queued(5), queued()]],
    ["the queue first", [queued(5), report, queued()]],
    ["to a busy agent", [{ type: "chat:followup", sessionId: "s", agentName: "A" } as Frame, queued(5), report, queued()]],
  ])("keeps its sender and session in the log (%s)", (_, frames) => {
    const items = allItems(play(...frames)).filter((item) => item.kind === "user");
    expect(items).toEqual([expect.objectContaining({ entryId: 5, text: report.type === "chat:user" ? report.text : "", origin: { kind: "report", name: "Helper" } })]);
  });
});

it("a person's message that was edited in the queue is read as it was edited", () => {
  const view: View = { ...newView("s"), loaded: true, pending: [{ kind: "user", key: "k", at: 1, text: "Old", state: "sent", entryId: 7, clientMsgId: "c" }] };
  const edited = reduceView(view, { type: "queue:changed", sessionId: "s", items: [{ entryId: 7, text: "New", origin: "person" }] }, 1);
  const read = reduceView(edited, { type: "queue:changed", sessionId: "s", items: [] }, 1);
  expect(allItems(read)).toEqual([expect.objectContaining({ entryId: 7, text: "New" })]);
});
