import { describe, expect, it } from "vitest";
import type { LinkStatus } from "@/socket";
import { linkLine, linkWords } from "./linkWords";

const link = (over: Partial<LinkStatus>): LinkStatus => ({ phase: "open", online: true, downSince: null, retryAt: null, lastInbound: 0, ...over });

describe("the line about the link", () => {
  it("says nothing while the link is up, or down for less than two seconds", () => {
    expect(linkLine(link({}), 10_000)).toEqual({ kind: "none" });
    expect(linkLine(link({ phase: "waiting", downSince: 9_000 }), 10_000)).toEqual({ kind: "none" });
  });
  it("counts down to the next try", () => {
    expect(linkLine(link({ phase: "waiting", downSince: 1_000, retryAt: 13_500 }), 10_000)).toEqual({ kind: "reconnecting", seconds: 4 });
  });
  it("has no countdown while it is trying", () => {
    expect(linkLine(link({ phase: "connecting", downSince: 1_000 }), 10_000)).toEqual({ kind: "reconnecting", seconds: null });
  });
  it("calls a computer without network offline", () => {
    expect(linkLine(link({ phase: "waiting", downSince: 1_000, online: false }), 10_000)).toEqual({ kind: "offline" });
    expect(linkWords(link({ phase: "waiting", online: false })).word).toBe("offline");
  });
  it("leaves a lost login to its dialog", () => {
    expect(linkLine(link({ phase: "signed-out", downSince: 0 }), 10_000)).toEqual({ kind: "none" });
  });
});
