import { describe, expect, it } from "vitest";

import type { Hit } from "@/api/search";
import { grouped, marked, MOST_TERMS, plain, termsOf } from "./hits";

const hit = (entryId: number, sessionId = "s1", workspacePath = "/a"): Hit => ({
  entryId, sessionId, workspacePath, title: `T ${sessionId}`, snippet: "x", timestamp: entryId,
});

describe("a question", () => {
  it.each([
    ["blue whale", ["blue", "whale"]],
    ['"blue whale" song', ["blue whale", "song"]],
    ["  twice twice ", ["twice"]],
    ['"', []],
    ["导出 超时", ["导出", "超时"]],
    ["", []],
  ])("%j has the terms %j", (text, terms) => expect(termsOf(text)).toEqual(terms));

  it("has at most ten terms", () => {
    expect(termsOf(Array.from({ length: 30 }, (_, n) => `w${n}`).join(" "))).toHaveLength(MOST_TERMS);
  });
});

describe("a snippet", () => {
  it("has every term marked, whatever the case", () => {
    expect(marked("The Blue whale", ["blue", "whale"])).toEqual([
      { text: "The ", hit: false },
      { text: "Blue", hit: true },
      { text: " ", hit: false },
      { text: "whale", hit: true },
    ]);
  });
  it("marks the longer of two terms that begin alike", () => {
    expect(marked("exported", ["export", "exported"])).toEqual([{ text: "exported", hit: true }]);
  });
  it("takes signs of patterns as they are", () => {
    expect(marked("a.b a+b", ["a+b"])).toEqual([{ text: "a.b ", hit: false }, { text: "a+b", hit: true }]);
  });
  it.each([
    ["## Sum **2 folders** | Name | Size | |---|:--:| | `a.py` | 3 |", "Sum 2 folders  Name  Size  a.py  3"],
    ["ls | grep a*b __init__ # 3", "ls | grep a*b __init__ # 3"],
    ["", ""],
  ])("is shown without marks: %j", (snippet, shown) => expect(plain(snippet)).toBe(shown));

  it("put together again is the text, whatever was asked", () => {
    let state = 7;
    const letter = (): string => "ab .*(\"中\\"[(state = (state * 1103515245 + 12345) % 2147483648) % 11]!;
    const word = (most: number): string => Array.from({ length: state % most }, letter).join("");
    for (let round = 0; round < 500; round += 1) {
      const text = letter() + word(40);
      const asked = letter() + word(8);
      expect(marked(text, termsOf(asked)).map((part) => part.text).join(""), JSON.stringify([text, asked])).toBe(text);
    }
  });
});

describe("hits", () => {
  it("stand under their session, sessions by their newest hit", () => {
    const groups = grouped([hit(9, "s2"), hit(7, "s1"), hit(5, "s2")]);
    expect(groups.map((group) => [group.sessionId, group.hits.map((one) => one.entryId)])).toEqual([["s2", [9, 5]], ["s1", [7]]]);
  });
  it("of the same session id in two folders are two sessions", () => {
    expect(grouped([hit(2, "s1", "/a"), hit(1, "s1", "/b")])).toHaveLength(2);
  });
  it("that two pages both hold are shown once", () => {
    expect(grouped([hit(3), hit(3)])[0]!.hits).toHaveLength(1);
  });
});
