import { describe, expect, it } from "vitest";
import { isSequence, isSingle, letterOf, matches, spell, type KeyPress } from "./combo";

const press = (over: Partial<KeyPress>): KeyPress => ({ key: "", code: "", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...over });

describe("key combinations", () => {
  it("take Ctrl for Mod, and Cmd on a Mac", () => {
    expect(matches("Mod+K", press({ key: "k", ctrlKey: true }), false)).toBe(true);
    expect(matches("Mod+K", press({ key: "k", metaKey: true }), true)).toBe(true);
    expect(matches("Mod+K", press({ key: "k", metaKey: true }), false)).toBe(false);
  });
  it("go by the physical key when Alt is held", () => {
    expect(matches("Alt+Shift+Digit1", press({ key: "!", code: "Digit1", altKey: true, shiftKey: true }), false)).toBe(true);
    expect(matches("Alt+W", press({ key: "∑", code: "KeyW", altKey: true }), true)).toBe(true);
  });
  it("do not fire with a modifier more", () => {
    expect(matches("F6", press({ key: "F6", shiftKey: true }), false)).toBe(false);
    expect(matches("Shift+F6", press({ key: "F6", shiftKey: true }), false)).toBe(true);
  });
  it("find the question mark on any keyboard", () => {
    expect(matches("?", press({ key: "?", shiftKey: true }), false)).toBe(true);
    expect(isSingle("?")).toBe(true);
  });
  it("may be two letters in a row, which no single press matches", () => {
    expect([isSequence("G N"), isSingle("G N"), isSequence("Mod+K")]).toEqual([true, true, false]);
    expect(matches("G N", press({ key: "n" }), false)).toBe(false);
    expect([letterOf(press({ key: "g" })), letterOf(press({ key: "g", ctrlKey: true })), letterOf(press({ key: "F6" }))]).toEqual(["G", null, null]);
    expect(spell("G N", false)).toBe("G N");
  });
  it("are spelled as the system spells them", () => {
    expect(spell("Mod+K", false)).toBe("Ctrl K");
    expect(spell("Alt+Shift+Digit2", true)).toBe("⌥⇧2");
  });
});
