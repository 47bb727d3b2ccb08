import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Frame } from "@/socket";

const wire = vi.hoisted(() => ({
  frame: (_frame: Frame): void => undefined,
  connected: (): void => undefined,
  answers: [] as ((goal: object | null) => void)[], // one for each request that waits
}));
vi.mock("@/socket", () => ({
  socket: {
    onFrame: (listener: (frame: Frame) => void) => ((wire.frame = listener), () => undefined),
    onConnected: (listener: () => void) => ((wire.connected = listener), () => undefined),
  },
}));
vi.mock("@/api/sessions", () => ({ getGoal: () => new Promise((resolve) => wire.answers.push(resolve)) }));

import { attachGoal, dismissGoal, ledNow, useGoal } from "./store";

const goal = (round: number, status = "running") => ({ goalSessionId: "goal_1", workerSessionId: "sid_w", status, round, maxRounds: 10 });
const answer = async (value: object | null, request = 0): Promise<void> => {
  wire.answers[request]!(value);
  await Promise.resolve();
  await Promise.resolve();
};
const round = () => useGoal.getState().goal?.round ?? null;

describe("the goal of the open workspace", () => {
  let leave: () => void;
  beforeEach(() => {
    wire.answers = [];
    leave = attachGoal("/srv");
  });
  afterEach(() => leave());

  it("is asked for at the start and again at every connection", async () => {
    await answer(goal(1));
    expect(round()).toBe(1);
    wire.connected();
    await answer(null, 1);
    expect(round()).toBeNull();
  });

  it("is not the one of another folder", async () => {
    await answer(goal(1));
    wire.frame({ type: "goal:changed", workspacePath: "/other", ...goal(3) });
    expect(round()).toBe(1);
  });

  it("is not set back by an answer that was under way when news came", async () => {
    wire.frame({ type: "goal:changed", workspacePath: "/srv", ...goal(3) });
    await answer(goal(2));
    expect(round()).toBe(3);
  });

  it("is not set back by an earlier request that is answered later", async () => {
    wire.connected();
    await answer(goal(5), 1);
    await answer(goal(4), 0);
    expect(round()).toBe(5);
  });

  it("belongs to this workspace only", async () => {
    leave();
    await answer(goal(1));
    expect(round()).toBeNull();
    expect(ledNow("sid_w")).toBe(false);
  });

  it("stays put away here after it ended", async () => {
    await answer(goal(10, "halted"));
    dismissGoal();
    leave();
    leave = attachGoal("/srv");
    expect(useGoal.getState().dismissed).toBe("goal_1");
    leave();
    leave = attachGoal("/other");
    expect(useGoal.getState().dismissed).toBeNull();
  });
});
