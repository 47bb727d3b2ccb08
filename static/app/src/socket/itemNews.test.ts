import { expect, test } from "vitest";
import type { Frame } from "./frames";
import { isNewsOf } from "./itemNews";

const file = (path: string): Frame => ({ type: "file:changed", path, action: "change" });

test("a change made in the app is news of its own kind only", () => {
  const frame: Frame = { type: "skills:changed", scope: "global" };
  expect(isNewsOf("skills", frame)).toBe(true);
  expect(isNewsOf("agents", frame)).toBe(false);
});

test("so are files of the workspace's own agents and skills, and no others", () => {
  expect(isNewsOf("agents", file(".halo/agents/local/agent.yaml"))).toBe(true);
  expect(isNewsOf("agents", file(".halo/agents"))).toBe(true);
  expect(isNewsOf("skills", file(".halo/agents/local/agent.yaml"))).toBe(false);
  expect(isNewsOf("agents", file("src/.halo/agents/a.md"))).toBe(false);
  expect(isNewsOf("agents", file(".halo/agents.md"))).toBe(false);
});
