import { describe, expect, it } from "vitest";
import { chatWidth, CHAT_MIN, EDITOR_MIN, fit } from "./layouts";
import { nextIndex } from "./regions";
import { clampSidebar, isPage, pressActivity, type ShellState } from "./store";
import { faviconSvg, titleText } from "./title";

const state = (over: Partial<ShellState>): ShellState => ({
  activity: "sessions", sidebar: true, sidebarWidth: 248, layout: "chat", chatBeside: false, drawer: false, dialog: null, settingsSection: "", ...over,
});

describe("the rail", () => {
  it("hides and shows the sidebar by the active icon", () => {
    expect(pressActivity(state({}), "sessions")).toEqual({ sidebar: false });
    expect(pressActivity(state({ sidebar: false }), "sessions")).toEqual({ sidebar: true });
  });
  it("opens the sidebar for another icon beside the dock", () => {
    expect(pressActivity(state({ sidebar: false }), "git")).toEqual({ activity: "git", sidebar: true });
  });
  it("opens a page with the chat folded, and leads back from it", () => {
    expect(pressActivity(state({ chatBeside: true }), "cron")).toEqual({ activity: "cron", chatBeside: false });
    expect(pressActivity(state({ activity: "cron" }), "cron")).toEqual({ activity: "sessions" });
    expect(isPage("explorer")).toBe(false);
  });
});

describe("the sidebar", () => {
  it("keeps between 180 pixels and two fifths of the window", () => {
    expect(clampSidebar(20, 1440)).toBe(180);
    expect(clampSidebar(900, 1440)).toBe(576);
    expect(clampSidebar(900, 300)).toBe(180);
  });
});

describe("a layout", () => {
  it("leaves the chat alone when there is no room for an editor", () => {
    expect(fit("code", CHAT_MIN + EDITOR_MIN - 1)).toEqual(fit("chat", 2000));
    expect(fit("code", CHAT_MIN + EDITOR_MIN).editor).toBe(true);
  });
  it("never makes chat or editor narrower than they can be", () => {
    expect(chatWidth(fit("review", 800), 800)).toBe(CHAT_MIN);
    expect(chatWidth(fit("code", 720), 720)).toBe(CHAT_MIN);
    expect(chatWidth(fit("chat", 900), 900)).toBe(900);
  });
});

describe("F6", () => {
  it("goes round both ways, and starts at the end it comes from", () => {
    expect([nextIndex(-1, 4, 1), nextIndex(3, 4, 1), nextIndex(0, 4, -1), nextIndex(-1, 4, -1)]).toEqual([0, 0, 3, 3]);
    expect(nextIndex(0, 0, 1)).toBe(-1);
  });
});

describe("the title of the browser tab", () => {
  it("says at work, and above that who needs you", () => {
    expect(titleText("x", 0, 0, null)).toBe("Halo — x");
    expect(titleText("x", 1, 0, "DEV")).toBe("[DEV] ● Halo — x");
    expect(titleText("x", 1, 2, null)).toBe("(2) Halo — x");
    expect(titleText(null, 0, 0, null)).toBe("Halo");
  });
  it("draws at most four letters of a badge, and no markup from it", () => {
    expect(faviconSvg(false, "<script>")).not.toContain("<script>");
    expect(faviconSvg(false, "LONGER")).toContain(">LONG<");
  });
});
