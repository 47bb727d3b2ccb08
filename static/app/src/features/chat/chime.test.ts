import { describe, expect, it } from "vitest";
import { finished } from "./chime";
import { newView, type View } from "./model";

const view = (over: Partial<View>): View => ({ ...newView("a"), ...over });

describe("an agent has finished", () => {
  it("when its session was at work and is not any more", () => {
    expect(finished({ a: view({ running: true }) }, { a: view({}) })).toEqual(["a"]);
    expect(finished({ a: view({ running: true }) }, { a: view({ running: true, between: true }) })).toEqual([]);
  });
  it("not when another session came forward or a tab was closed", () => {
    expect(finished({ a: view({}), b: view({ running: true }) }, { a: view({}), b: view({ running: true }) })).toEqual([]);
    expect(finished({ a: view({ running: true }) }, {})).toEqual([]);
  });
});
