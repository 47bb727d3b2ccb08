import { beforeEach, describe, expect, it } from "vitest";

import { attach, fitted, imagesIn } from "./images";
import { dropFromOutbox, keepInOutbox, loadOutbox } from "./outbox";
import { closed, loadDraft, loadTabs, newId, opened, saveDraft, saveTabs, started, withDraft, type Tabs } from "./tabs";

const two: Tabs = { tabs: [{ id: "a", draft: false }, { id: "b", draft: false }], active: "a" };

beforeEach(() => {
  localStorage.clear();
  sessionStorage.clear();
});

describe("tabs", () => {
  it("hold one draft at a time", () => {
    const once = withDraft(two, "d");
    expect(withDraft({ ...once, active: "a" }, "e")).toEqual(once);
  });

  it("open a session once and bring it forward", () => {
    expect(opened(opened(two, "c"), "b")).toMatchObject({ active: "b", tabs: { length: 3 } });
  });

  it("give way to the neighbour, and to a draft at the end", () => {
    expect(closed(two, "a", "d").active).toBe("b");
    expect(closed({ ...two, active: "b" }, "b", "d").active).toBe("a");
    expect(closed(closed(two, "a", "d"), "b", "d")).toEqual({ tabs: [{ id: "d", draft: true }], active: "d" });
    expect(closed(two, "unknown", "d")).toBe(two);
  });

  it("are no draft any more once something was sent", () => {
    expect(started(withDraft(two, "d"), "d").tabs.every((tab) => !tab.draft)).toBe(true);
  });

  it("survive a reload; nonsense in the storage gives a draft", () => {
    saveTabs("/w", two);
    expect(loadTabs("/w")).toEqual(two);
    for (const bad of ["{", "[]", '{"tabs":[{"id":5}],"active":"a"}', '{"tabs":[],"active":"x"}']) {
      localStorage.setItem("halo_chat_tabs_/w", bad);
      expect(loadTabs("/w").tabs, bad).toMatchObject([{ draft: true }]);
    }
  });

  it("have ids the server takes", () => {
    for (let n = 0; n < 50; n += 1) expect(newId()).toMatch(/^[\w.:>-]{10,60}$/);
    expect(new Set(Array.from({ length: 200 }, () => newId(1))).size).toBe(200);
  });

  it("keep unsent words per session", () => {
    saveDraft("/w", "a", "half a thought");
    expect([loadDraft("/w", "a"), loadDraft("/w", "b"), loadDraft("/v", "a")]).toEqual(["half a thought", "", ""]);
    saveDraft("/w", "a", "");
    expect(loadDraft("/w", "a")).toBe("");
  });
});

describe("the outbox", () => {
  const frame = (clientMsgId: string, projectId = "/w") =>
    ({ type: "chat", sessionId: "s", projectId, message: "m", clientMsgId }) as const;

  it("keeps what is on its way for this workspace, once each, in order", () => {
    for (const one of [frame("1"), frame("2"), frame("1"), frame("3", "/v")]) keepInOutbox(one);
    expect(loadOutbox("/w").map((one) => one.clientMsgId)).toEqual(["2", "1"]);
    dropFromOutbox("2");
    expect(loadOutbox("/w").map((one) => one.clientMsgId)).toEqual(["1"]);
  });

  it("takes no nonsense", () => {
    sessionStorage.setItem("halo_outbox", '[{"sessionId":1}]');
    expect(loadOutbox("/w")).toEqual([]);
  });
});

describe("pictures", () => {
  it("have a long edge of at most 1568 px and keep their shape", () => {
    expect(fitted(6000, 4000)).toEqual({ width: 1568, height: 1045 });
    expect(fitted(800, 600)).toEqual({ width: 800, height: 600 });
    expect(fitted(10_000, 1)).toEqual({ width: 1568, height: 1 });
  });

  it("are taken from a drop; other files are told of", () => {
    const files = [new File(["x"], "a.png", { type: "image/png" }), new File(["x"], "b.txt", { type: "text/plain" })];
    expect(imagesIn({ files } as unknown as DataTransfer)).toEqual([[files[0]], true]);
    expect(imagesIn(null)).toEqual([[], false]);
  });

  it("that the server refuses say why", async () => {
    globalThis.fetch = async () => new Response(JSON.stringify({ error: "not an image" }), { status: 400 });
    const told = await new Promise((resolve) => attach("/w", new File(["x"], "a.png", { type: "image/png" }), resolve));
    expect(told).toMatchObject({ id: null, error: "not an image" });
  });
});
