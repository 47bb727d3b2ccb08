import { describe, expect, it } from "vitest";
import type { Dispatch } from "@/api/relay";
import { shownIn, waited, type Span } from "./shown";

const side = { workspace: "/srv", sessionId: "s", title: null };
const task = (id: number, closedAt: number | null): Dispatch => ({ id, caller: side, target: side, state: closedAt === null ? "pending" : "completed", reason: "", hop: 1, sends: 1, interims: 0, createdAt: 1000, closedAt });
const HOUR = 3_600_000;
const NOW = 100 * HOUR;
const rows = [task(4, NOW - HOUR), task(3, null), task(2, NOW - 25 * HOUR)];
const old = task(1, null); // waits, and is not among the newest

describe("the tasks on the page", () => {
  it.each<[Span, number[]]>([["open", [3, 1]], ["day", [4, 3, 1]], ["all", [4, 3, 2, 1]]])("of %s are %j, newest first", (span, ids) => {
    expect(shownIn(span, [task(3, null), old], rows, NOW).map((row) => row.id)).toEqual(ids);
  });

  it("wait until their report came, or until now", () => {
    expect([waited(task(1, null), 5000), waited(task(1, 3000), 5000)]).toEqual([4000, 2000]);
  });
});
