import { describe, expect, it } from "vitest";
import { setList, setText } from "./yamlText";

const AGENT = `# mine
name: Helper   # short
model:
  provider: demo
tools:
  - file_read  # looks
  - grep

team: [default,
  executor]
priority: 5
`;

describe("an agent.yaml changed as text", () => {
  it("keeps comments and order around a list that grows and shrinks", () => {
    expect(setList(AGENT, "tools", ["file_read", "glob"])).toBe(AGENT.replace("  - grep\n", "  - glob\n"));
  });

  it("replaces a list written in brackets, over several lines too", () => {
    expect(setList(AGENT, "team", ["helper"])).toBe(AGENT.replace("team: [default,\n  executor]", "team:\n  - helper"));
  });

  it("takes the key away with its last name", () => {
    expect(setList(AGENT, "team", [])).toBe(AGENT.replace("team: [default,\n  executor]\n", ""));
    expect(setList(AGENT, "skills", [])).toBe(AGENT);
  });

  it("adds a key that was not there at the end", () => {
    expect(setList(AGENT, "skills", ["halo", "a b"])).toBe(`${AGENT}skills:\n  - halo\n  - "a b"\n`);
  });

  it("keeps the indentation and the line ends of the file", () => {
    expect(setList("tools:\r\n- a\r\n- b\r\n", "tools", ["b", "c"])).toBe("tools:\r\n- b\r\n- c\r\n");
  });

  it("sets a text in its place, a folded one as well", () => {
    expect(setText(AGENT, "name", "Other: one")).toBe(AGENT.replace("name: Helper   # short", 'name: "Other: one"'));
    expect(setText("description: >\n  long\n  words\nname: A\n", "description", "short")).toBe('description: "short"\nname: A\n');
    expect(setText("name: A\n", "description", "d")).toBe('description: "d"\nname: A\n');
  });
});
