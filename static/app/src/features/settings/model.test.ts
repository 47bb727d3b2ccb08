import { describe, expect, it } from "vitest";
import type { SettingField } from "@/api/settings";
import { generalGroups, mayReset, nameOf, passwordRules, readInput, sourceOf } from "./model";

const field = (over: Partial<SettingField>): SettingField => ({
  key: "agent.max_retries", path: "general.agent.max_retries", kind: "param", type: "int", options: [], optionLabels: [], description: "", descriptionZh: "", default: "5", secret: false,
  globalOnly: false, value: null, hasValue: false, source: "unset", inheritedFromGlobal: false, unit: "", min: 1, max: 20, needsRestart: false, error: "", ...over,
});

describe("a setting", () => {
  it("has a name a person can read", () => {
    expect(nameOf(field({}))).toBe("Max retries");
    expect(nameOf(field({ key: "api_key" }))).toBe("API key");
  });
  it("says where its value comes from, seen from the scope that is shown", () => {
    expect(sourceOf(field({ source: "global" }), "workspace")).toBe("inherited");
    expect(sourceOf(field({ source: "global", globalOnly: true }), "workspace")).toBe("global");
    expect(sourceOf(field({}), "global")).toBe("default");
  });
  it("is reset only where it was set", () => {
    expect(mayReset(field({ hasValue: true, source: "global" }), "workspace")).toBe(false);
    expect(mayReset(field({ hasValue: true, source: "workspace" }), "workspace")).toBe(true);
  });
  it("refuses what is no number, no whole number, or out of range", () => {
    expect(readInput(field({}), "x")).toEqual({ refused: { kind: "number" } });
    expect(readInput(field({}), "2.5")).toEqual({ refused: { kind: "whole" } });
    expect(readInput(field({}), "21")).toEqual({ refused: { kind: "range", low: 1, high: 20 } });
    expect(readInput(field({}), " 7 ")).toEqual({ value: 7 });
    expect(readInput(field({}), "")).toEqual({ value: null });
  });
  it("of type list splits at commas of both languages", () => {
    expect(readInput(field({ type: "list" }), "a, b，c")).toEqual({ value: ["a", "b", "c"] });
  });
});

describe("the general settings", () => {
  it("are grouped by their first word, without theme and language", () => {
    const section = { id: "general", group: "general" as const, title: "", titleZh: "", fields: [field({ key: "theme" }), field({}), field({ key: "limits.x" }), field({ key: "odd" })] };
    expect(generalGroups(section).map((group) => group.part)).toEqual(["agent", "limits", "other"]);
  });
});

describe("a new password", () => {
  it("is checked rule by rule", () => {
    expect(passwordRules("old", "short1", "short1")).toEqual({ length: false, letter: true, digit: true, differs: true, matches: true });
    expect(passwordRules("", "", "").matches).toBe(false);
  });
});
