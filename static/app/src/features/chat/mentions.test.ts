import { describe, expect, it } from "vitest";
import { mentionAt, settled, splitReferences, withReferences } from "./mentions";

const at = (text: string) => mentionAt(text.replace("|", ""), text.includes("|") ? text.indexOf("|") : text.length);

describe("a mention", () => {
  it("begins at the start or behind a space and ends at the caret", () => {
    expect(at("@")).toEqual({ kind: "file", start: 0, query: "" });
    expect(at("look at @src/a")).toEqual({ kind: "file", start: 8, query: "src/a" });
    expect(at("see\n@x| and more")).toEqual({ kind: "file", start: 4, query: "x" });
    for (const text of ["me@example.org", "@a b", "plain", "a@", "|@a"]) expect(at(text)).toBeNull();
  });

  it("is a folder behind @scope, whatever else an @ means", () => {
    expect(at("@scope")).toEqual({ kind: "scope", start: 0, query: "" });
    expect(at("fix @scope sr")).toEqual({ kind: "scope", start: 4, query: "sr" });
    expect(at('@scope "my di')).toEqual({ kind: "scope", start: 0, query: "my di" });
    expect(at("@scope src fix it")).toBeNull();
    expect(at("@scopes")).toEqual({ kind: "file", start: 0, query: "scopes" });
  });

  it("of a file leaves the text; one of a folder stays in it", () => {
    const choose = (text: string, path: string) => {
      const caret = text.includes("|") ? text.indexOf("|") : text.length;
      const plain = text.replace("|", "");
      return settled(plain, mentionAt(plain, caret)!, caret, path);
    };
    expect(choose("look at @a", "src/a.ts")).toEqual({ text: "look at ", caret: 8 });
    expect(choose("look at @a| please", "src/a.ts")).toEqual({ text: "look at please", caret: 8 });
    expect(choose("@scope s", "src")).toEqual({ text: "@scope src ", caret: 11 });
    expect(choose("x @scope m| fix", "my dir")).toEqual({ text: 'x @scope "my dir" fix', caret: 18 });
  });
});

describe("referenced files", () => {
  it("stand in front of the text and are taken off again for the eye", () => {
    const sent = withReferences("compare them\n", ["a b.ts", "src/c.ts"]);
    expect(sent).toBe("[Referenced files:\n  - a b.ts\n  - src/c.ts\n]\n\ncompare them\n");
    expect(splitReferences(sent)).toEqual({ own: "compare them\n", paths: ["a b.ts", "src/c.ts"] });
    expect(withReferences("plain", [])).toBe("plain");
    for (const text of ["plain", "[Referenced files:\n]\n\nx", "x [Referenced files:\n  - a\n]\n\n"]) {
      expect(splitReferences(text)).toEqual({ own: text, paths: [] });
    }
  });
});
