import { describe, expect, it } from "vitest";
import { highlight, parseQuery, rank, score } from "./match";

describe("the palette", () => {
  it("reads the first sign as the kind of thing that is wanted", () => {
    expect(parseQuery("> theme")).toEqual({ scope: "commands", text: "theme" });
    expect(parseQuery("#export")).toEqual({ scope: "sessions", text: "export" });
    expect(parseQuery("export", "commands")).toEqual({ scope: "commands", text: "export" });
  });
  it("wants every word somewhere, and likes the beginning best", () => {
    expect(score("Theme: Dark", "dark th")).toBeGreaterThan(0);
    expect(score("Theme: Dark", "dark xx")).toBe(0);
    expect(rank(["Nightly export", "Export timeout"], (label) => label, "export", 5)).toEqual(["Export timeout", "Nightly export"]);
  });
  it("marks the hits, and takes signs of the language of patterns as they are", () => {
    expect(highlight("Export (csv)", "(csv)")).toEqual([{ text: "Export ", hit: false }, { text: "(csv)", hit: true }]);
    expect(highlight("Export", "")).toEqual([{ text: "Export", hit: false }]);
  });
});
