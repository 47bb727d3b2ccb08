import { describe, expect, it } from "vitest";
import en from "./en";
import zh from "./zh";

type Words = { [key: string]: string | Words };

const leaves = (words: Words, prefix = ""): [string, string][] =>
  Object.entries(words).flatMap(([key, value]) => (typeof value === "string" ? [[`${prefix}${key}`, value] as [string, string]] : leaves(value, `${prefix}${key}.`)));

const english = leaves(en as unknown as Words);
const chinese = new Map(leaves(zh as unknown as Words));
const slots = (text: string): string[] => [...text.matchAll(/\{\{\s*(\w+)/g)].map((match) => match[1] ?? "").sort();

describe("the two languages", () => {
  it("have the same keys", () => {
    expect([...chinese.keys()].sort()).toEqual(english.map(([key]) => key).sort());
  });
  it("fill the same slots", () => {
    // `count` may be left out where the word alone says it (one session).
    const strip = (names: string[]) => names.filter((name) => name !== "count");
    for (const [key, text] of english) expect([key, strip(slots(chinese.get(key) ?? ""))]).toEqual([key, strip(slots(text))]);
  });
  it("leave no text empty in one of them only", () => {
    for (const [key, text] of english) expect([key, (chinese.get(key) ?? "") === ""]).toEqual([key, text === ""]);
  });
  it("keep Chinese free of the formal you", () => {
    expect([...chinese].filter(([, text]) => text.includes("您"))).toEqual([]);
  });
  it("use no exclamation marks and no please", () => {
    expect(english.filter(([, text]) => /!|please/i.test(text))).toEqual([]);
    expect([...chinese].filter(([, text]) => text.includes("！"))).toEqual([]);
  });
});
