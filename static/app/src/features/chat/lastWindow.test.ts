import { beforeEach, describe, expect, it } from "vitest";

import { tabStorage } from "@/shared/storage";
import { keepWindow, keptView, newest } from "./lastWindow";
import { newView, type Item, type View } from "./model";
import { reduceView } from "./reducer";

const text = (place: number): Item => ({ kind: "text", key: `text:t${place}:0`, at: place, turnId: `t${place}`, text: `answer ${place}` });
const sent: Item = { kind: "user", key: "client:m1", at: 1, entryId: 4, text: "hi", state: "sent", clientMsgId: "m1", images: [{ id: "i", url: "blob:x" }] };
const view = (over: Partial<View>): View => ({ ...newView("s1"), loaded: true, ...over });

beforeEach(() => tabStorage.remove("halo_last_window"));

describe("the last window", () => {
  it("holds the newest items, without what only this page can show", () => {
    expect(newest([sent, text(2)])).toEqual([{ kind: "user", key: "user:4", at: 1, entryId: 4, text: "hi", state: "sent", clientMsgId: "m1" }, text(2)]);
    expect(newest(Array.from({ length: 200 }, (_, place) => text(place))).at(0)).toEqual(text(140));
    expect(newest([text(1), text(2)], 100)).toEqual([text(2)]);
  });

  it("comes back for the same session of the same folder only", () => {
    keepWindow("/work", view({ past: [text(1)], live: [text(2)] }));
    expect(keptView("/work", "s1")).toMatchObject({ loaded: false, past: [text(1), text(2)] });
    expect([keptView("/other", "s1"), keptView("/work", "s2")]).toEqual([null, null]);
    keepWindow("/work", view({}));
    expect(keptView("/work", "s1")).toBeNull();
  });

  it("is nothing when storage holds nonsense", () => {
    tabStorage.set("halo_last_window", '{"workspace": "/work", "sessionId": "s1", "agentName": "", "items": [{}]}');
    expect(keptView("/work", "s1")).toBeNull();
  });

  it("gives way to the snapshot as a whole", () => {
    keepWindow("/work", view({ past: [sent, text(2)] }));
    const snapshot = { sessionId: "s1", recentMessages: [{ id: 9, entryId: 9, type: "user", content: "newer" }] };
    const next = reduceView(keptView("/work", "s1")!, { type: "state:snapshot", snapshot }, 1);
    expect(next.past.map((item) => item.key)).toEqual(["user:9"]);
  });
});
