import { describe, expect, it } from "vitest";

import type { Frame } from "@/socket/frames";
import { viewersOf } from "./routing";

const said = (taskId?: string): Frame =>
  ({ type: "chat:stream", sessionId: "r", text: "x", turnId: "t", agentName: "A", ...(taskId ? { taskId } : {}) }) as Frame;

describe("a frame", () => {
  it("of a session goes to its tab only", () => {
    expect(viewersOf(said(), ["q", "r"]).map(([id]) => id)).toEqual(["r"]);
    expect(viewersOf(said(), ["q"])).toEqual([]);
  });
  it("of a sub-agent is news for every session above it", () => {
    expect(viewersOf(said("r>c>g"), ["r", "r>c", "r>d", "rx"])).toEqual([["r", said("r>c>g")], ["r>c", said("r>c>g")]]);
  });
  it("of a sub-agent is the sub-agent's own in its own tab", () => {
    const [id, own] = viewersOf(said("r>c"), ["r>c"])[0]!;
    expect([id, own]).toEqual(["r>c", { ...said(), sessionId: "r>c", taskId: undefined }]);
  });
  it("without a session goes nowhere", () => expect(viewersOf({ type: "session:changed" }, ["r"])).toEqual([]));
});
