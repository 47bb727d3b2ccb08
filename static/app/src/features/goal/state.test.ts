import { describe, expect, it } from "vitest";
import type { Frame } from "@/socket";
import { bannerOf, isLed, told, type Goal, type Status } from "./state";

const goal = (more: Partial<Goal> = {}): Goal => ({ goalSessionId: "goal_1", workerSessionId: "sid_w", status: "running", round: 2, maxRounds: 10, ...more });
const frame = (more: Partial<Omit<Goal, "status">> & { status?: string } = {}): Frame => ({ type: "goal:changed", workspacePath: "/w", ...goal(), ...more });

describe("a goal", () => {
  it("is what the last frame said", () => {
    expect(told(null, frame({ status: "intake" }))).toEqual(goal({ status: "intake" }));
    expect(told(goal(), frame({ round: 3 }))?.round).toBe(3);
    expect(told(goal({ status: "halted" }), frame({ goalSessionId: "goal_2" }))?.goalSessionId).toBe("goal_2");
  });

  it("is gone once it was cleared, and not because an older one was", () => {
    expect(told(goal(), frame({ status: "cleared" }))).toBeNull();
    expect(told(goal({ goalSessionId: "goal_2" }), frame({ status: "cleared" }))?.goalSessionId).toBe("goal_2");
  });

  it("does not change by other frames", () => {
    const before = goal();
    expect(told(before, { type: "session:changed", workspacePath: "/srv", sessionId: "sid_w" })).toBe(before);
  });
});

describe("the banner", () => {
  it("is there in every session while there is a goal", () => {
    expect(bannerOf(null, null, "sid_x")).toBeNull();
    expect(bannerOf(goal(), null, "sid_x")).toMatchObject({ status: "running", round: 2, maxRounds: 10, ring: "run", toGoal: "goal_1", toWorker: "sid_w" });
  });

  it("does not lead to the session on screen", () => {
    expect(bannerOf(goal(), null, "goal_1")).toMatchObject({ toGoal: null, toWorker: "sid_w" });
    expect(bannerOf(goal(), null, "sid_w")).toMatchObject({ toGoal: "goal_1", toWorker: null });
  });

  it.each(["halted", "done"] as const)("of a goal that is %s can be put away, and stays away for this goal only", (status) => {
    expect(bannerOf(goal({ status }), null, "x")?.mayDismiss).toBe(true);
    expect(bannerOf(goal({ status }), "goal_1", "x")).toBeNull();
    expect(bannerOf(goal({ status, goalSessionId: "goal_2" }), "goal_1", "x")).not.toBeNull();
  });

  it.each(["intake", "running", "paused"] as const)("of a goal that is %s cannot be put away", (status) => {
    expect(bannerOf(goal({ status }), "goal_1", "x")?.mayDismiss).toBe(false);
  });
});

describe("a worker", () => {
  it.each<[Status, boolean]>([["intake", true], ["running", true], ["paused", false], ["halted", false], ["done", false]])("of a goal that is %s is led: %s", (status, led) => {
    expect(isLed(goal({ status }), false, "sid_w")).toBe(led);
  });

  it("that crashed and was parked listens to people: only they can wake it", () => {
    expect(isLed(goal({ status: "intake" }), true, "sid_w")).toBe(false);
  });

  it("is the only session that is led", () => {
    expect(isLed(goal(), false, "goal_1")).toBe(false);
    expect(isLed(null, false, "sid_w")).toBe(false);
  });
});
