import { describe, expect, it } from "vitest";

import type { Item } from "./model";
import { rowsOf } from "./rows";
import { mayBeHere, rowOfEntry } from "./target";

const text = (entryId: number, key: string, words: string): Item => ({ kind: "text", key, at: 1, entryId, turnId: "t", text: words });
const look = (entryId: number, id: string): Item => ({
  kind: "tool", key: `tool:${id}`, at: 1, entryId, turnId: "t", toolUseId: id, name: "file_read", input: {}, output: "", tail: "", dropped: 0, ms: 1,
});
const items: Item[] = [
  { kind: "user", key: "user:1", at: 1, entryId: 1, text: "Where is the whale?", state: "sent" },
  text(2, "a", "I look."), look(2, "x"), look(2, "y"), text(2, "b", "The whale is blue."),
  text(3, "c", "Done."),
];
const rows = rowsOf(items);

describe("the row of an entry", () => {
  it("is the block that holds the words", () => expect(rowOfEntry(rows, { entryId: 2, terms: ["BLUE"] })).toBe("b"));
  it("is its first block when no block holds them", () => expect(rowOfEntry(rows, { entryId: 2, terms: ["red"] })).toBe("a"));
  it("is the message itself", () => expect(rowOfEntry(rows, { entryId: 1, terms: ["whale"] })).toBe("user:1"));
  it("is unknown while it is not loaded", () => expect(rowOfEntry(rows, { entryId: 9, terms: [] })).toBeNull());
});

describe("a message that no row shows", () => {
  it("is further back when all rows have their entries", () => expect(mayBeHere({ past: items, live: [] }, 1)).toBe(false));
  it("may be newer than all of them", () => expect(mayBeHere({ past: items, live: [] }, 4)).toBe(true));
  it("may be what was just streamed", () => {
    const streamed: Item = { kind: "text", key: "d", at: 1, turnId: "u", text: "New." };
    expect(mayBeHere({ past: [...items, streamed], live: [] }, 2)).toBe(true);
  });
});
