import { describe, expect, it } from "vitest";
import { commandOutput, factOf, isCut } from "./toolFacts";
import { mcpName, spokenName, subjectOf } from "./tools";

const fact = (name: string, output: string | null) => factOf({ name, output });

describe("the head of a tool card", () => {
  it("counts what was found, and says when there is more", () => {
    expect(fact("grep", "a.py:1:x\nb.py:2:y\n[truncated: showing first 2 matches. Narrow the pattern]")).toEqual({ kind: "matches", n: 2, more: true });
    expect(fact("grep", 'No matches found for pattern "x"')).toEqual({ kind: "matches", n: 0, more: false });
    expect(fact("glob", "a.py\nb.py")).toEqual({ kind: "files", n: 2, more: false });
    expect(fact("file_list", "📁 src\n📄 a.py")).toEqual({ kind: "entries", n: 2, more: false });
    expect(fact("grep", "__TOOL_WARN__\nError: Invalid regex pattern: (")).toBeNull();
    expect(fact("grep", null)).toBeNull();
  });

  it("names status and type of a page, and what a picture is", () => {
    expect(fact("web_fetch", "Status: 404\nContent-Type: text/html; charset=utf-8\n\nNot here")).toEqual({ kind: "status", code: 404, type: "text/html" });
    expect(fact("view_image", "Image loaded: a b.png (image/png, 12.5 KB, md5: 0123abcd — resized from 3000x2000 to 1568x1045)")).toEqual({ kind: "picture", type: "image/png", size: "12.5 KB", resized: true });
  });

  it("says how a command ended", () => {
    expect(fact("shell_exec", "__TOOL_ERROR__\nCommand failed: exit code 2\nboom")).toEqual({ kind: "exit", code: 2 });
    expect(fact("shell_exec", "__TOOL_ERROR__\nCommand failed: ended by signal 9")).toEqual({ kind: "signal", n: 9 });
    expect(fact("shell_exec", "__TOOL_ERROR__\nCommand timed out after 120000ms\nso far")).toEqual({ kind: "timeout", ms: 120_000 });
    expect(fact("shell_exec", "Command failed to impress")).toBeNull();
    expect(commandOutput("__TOOL_ERROR__\nCommand failed: exit code 2\nboom\nbang")).toBe("boom\nbang");
    expect(commandOutput("__TOOL_ERROR__\nCommand was ended: it took more than 256 processes\nx")).toBe("Command was ended: it took more than 256 processes\nx");
    expect(commandOutput("fine")).toBe("fine");
  });

  it("knows a result that was cut by its end only", () => {
    expect([isCut("a\n\n[Output truncated: 9 chars total, showing first 5.]"), isCut("x\n... [truncated to 50KB]"), isCut("y\n[truncated] The output limit was reached")]).toEqual([true, true, true]);
    expect([isCut(`[truncated]${"x".repeat(500)}`), isCut(null), isCut("the word [truncated] in a line")]).toEqual([false, false, false]);
  });

  it("reads server and tool out of the name of an MCP tool", () => {
    expect(mcpName("mcp__tide-data__high__water")).toEqual({ server: "tide-data", tool: "high__water" });
    expect(mcpName("file_read")).toBeNull();
    expect([spokenName("mcp__tides__high"), spokenName("grep")]).toEqual(["tides: high", "grep"]);
    expect(subjectOf({ name: "mcp__tides__high", input: { port: "Kiel", days: 2 } })).toBe("Kiel");
  });
});
