import { describe, expect, it } from "vitest";
import type { SessionRow } from "@/api/sessions";
import { ago, filterRows, flatten, modelTail, rowState, without, withTitles } from "./rows";

const row = (over: Partial<SessionRow>): SessionRow => ({
  id: "a", agentId: "default", agentName: "Default", title: "Export timeout", createdAt: 0, updatedAt: 0, exchangeCount: 1, stoppedAt: null, archivedAt: null,
  parkedAt: null, parentSessionId: null, goalSessionId: null, contextTokens: 0, totalOutputTokens: 0, running: false, compacting: false, startedAt: null, activity: "", status: "idle", source: "explorer",
  unseen: false, model: "", descendants: 0, ...over,
});

describe("a row of the session list", () => {
  it("puts needing a person above everything else", () => {
    expect(rowState(row({ parkedAt: 1, running: true, unseen: true }), [])).toBe("warn");
  });
  it("is at work as soon as the chat knows it, before the list is fetched again", () => {
    expect(rowState(row({}), ["a"])).toBe("run");
  });
  it("shows unseen work, and archived sessions as off", () => {
    expect(rowState(row({ unseen: true }), [])).toBe("new");
    expect(rowState(row({ archivedAt: 5 }), [])).toBe("off");
    expect(rowState(row({}), [])).toBe("idle");
  });
});

describe("the model in a row", () => {
  it("is the last part of its id, whatever stands before", () => {
    expect(["openai/gpt-5-mini", "router/vendor/aster:8b", "aster-large", ""].map(modelTail)).toEqual(["gpt-5-mini", "aster:8b", "aster-large", ""]);
  });
});

describe("the list", () => {
  it("holds a session once although it moved between two pages", () => {
    expect(flatten([{ sessions: [row({ id: "a" }), row({ id: "b" })] }, { sessions: [row({ id: "b" }), row({ id: "c" })] }]).map((one) => one.id)).toEqual(["a", "b", "c"]);
  });
  it("is filtered by a part of the title, whatever the case", () => {
    expect(filterRows([row({ title: "Export" }), row({ title: "" })], "exp")).toHaveLength(1);
  });
});

describe("a title given here", () => {
  const fetched = [row({ id: "a", title: "Old" }), row({ id: "b", title: "Other" })];
  it("is shown until the server has it, whatever a slower fetch brings", () => {
    const wished = new Map([["a", "New"]]);
    expect(withTitles(fetched, wished).map((one) => one.title)).toEqual(["New", "Other"]);
    expect(withTitles(fetched, without(wished, "a"))).toBe(fetched);
  });
});

describe("time in a row", () => {
  const noon = new Date(2026, 5, 10, 12, 0).getTime();
  it("is coarse", () => {
    expect(ago(noon - 30_000, noon)).toEqual({ kind: "now" });
    expect(ago(noon - 5 * 60_000, noon)).toEqual({ kind: "minutes", n: 5 });
    expect(ago(noon - 3 * 3_600_000, noon)).toEqual({ kind: "hours", n: 3 });
  });
  it("goes by the calendar, not by 24 hours", () => {
    expect(ago(noon - 13 * 3_600_000, noon)).toEqual({ kind: "yesterday" });
    expect(ago(noon - 72 * 3_600_000, noon).kind).toBe("date");
  });
});
