import { describe, expect, it } from "vitest";
import type { Dispatch } from "@/api/relay";
import { nameOf, otherEnd } from "./sides";

const caller = { workspace: "/srv/office", sessionId: "sid_a", title: "Numbers" };
const target = { workspace: "/srv/sales", sessionId: "sid_b", title: null };
const secret = { workspace: null, sessionId: null, title: null };
const task = (more: Partial<Dispatch> = {}): Dispatch => ({
  id: 1, caller, target, state: "pending", reason: "", hop: 1, sends: 1, interims: 0, createdAt: 0, closedAt: null, ...more,
});

describe("the ends of a handed-on task", () => {
  it("have a title, else an id, and a folder when it is another one", () => {
    expect(nameOf(caller, "/srv/office", "?")).toBe("Numbers");
    expect(nameOf(target, "/srv/office", "?")).toBe("sid_b (sales)");
    expect(nameOf(secret, "/srv/office", "another workspace")).toBe("another workspace");
  });

  it("open the one that is not here, if the person may", () => {
    expect(otherEnd(task(), "/srv/office")).toEqual({ workspace: "/srv/sales", sessionId: "sid_b" });
    expect(otherEnd(task(), "/srv/sales")).toEqual({ workspace: "/srv/office", sessionId: "sid_a" });
    expect(otherEnd(task({ caller: secret }), "/srv/sales")).toBeNull();
  });
});
