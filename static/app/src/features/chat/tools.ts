/** How tool calls are spoken of: verb, subject, result figure. Pure; words are i18n keys. */
import type { ToolItem } from "./model";

export type Verb =
  | "read" | "list" | "search" | "edit" | "write" | "run" | "fetch" | "ask" | "look" | "skill" | "other";

const VERBS: Record<string, Verb> = {
  file_read: "read",
  view_image: "look",
  file_list: "list",
  grep: "search",
  glob: "search",
  file_edit: "edit",
  file_write: "write",
  shell_exec: "run",
  web_fetch: "fetch",
  activate_skill: "skill",
  query_agent: "ask",
  start_session: "ask",
  interrupt_session: "ask",
  call_agent: "ask",
  query_session: "ask",
};

export const verbOf = (name: string): Verb => VERBS[name] ?? "other";

export interface McpName {
  server: string;
  tool: string;
}

/** `mcp__<server>__<tool>`; null for every other name. */
export function mcpName(name: string): McpName | null {
  const found = /^mcp__([a-z][a-z0-9_-]*?)__(.+)$/.exec(name);
  return found ? { server: found[1]!, tool: found[2]! } : null;
}

/** A tool's name as a person says it: `server: tool` for one of an MCP server. */
export function spokenName(name: string): string {
  const mcp = mcpName(name);
  return mcp ? `${mcp.server}: ${mcp.tool}` : name;
}

const READ_ONLY = new Set(["file_read", "view_image", "file_list", "grep", "glob", "web_fetch"]);

/** Calls that only look: neighbours share one line. */
export const folds = (tool: ToolItem): boolean => READ_ONLY.has(tool.name);

const SUBJECT_KEYS = ["command", "pattern", "path", "file_path", "url", "skill_id", "query", "agent", "agentId", "prompt", "message"];

/** What the call is about, on one line, at most 200 characters. */
export function subjectOf(tool: Pick<ToolItem, "name" | "input">): string {
  for (const key of SUBJECT_KEYS) {
    const value = tool.input[key];
    if (typeof value === "string" && value.trim() !== "") return value.trim().replace(/\s+/g, " ").slice(0, 200);
  }
  if (tool.name === "file_list") return ".";
  const first = mcpName(tool.name) ? Object.values(tool.input).find((value) => typeof value === "string" && value.trim() !== "") : undefined;
  return text(first).trim().replace(/\s+/g, " ").slice(0, 200);
}

export type Outcome = "run" | "ok" | "warn" | "err" | "stopped";

const ERROR = "__TOOL_ERROR__";
const WARN = "__TOOL_WARN__";
const INTERRUPTED = "[interrupted by user]";
const UNKNOWN = /^\[?outcome unknown/i;

/** Only a first line that says so makes an error: a file that contains the word does not. */
export function outcomeOf(output: string | null): Outcome {
  if (output === null) return "run";
  if (plainOutput(output).startsWith(INTERRUPTED)) return "stopped";
  if (output.startsWith(ERROR)) return "err";
  if (output.startsWith(WARN)) return "warn";
  if (UNKNOWN.test(output)) return "warn";
  return "ok";
}

export const isUnknown = (output: string | null): boolean =>
  output !== null && UNKNOWN.test(output.replace(/^__TOOL_(ERROR|WARN)__\n?/, ""));

/** The output as a person reads it: without the marker of its first line. */
export const plainOutput = (output: string): string => output.replace(/^__TOOL_(ERROR|WARN)__\n?/, "");

export const firstLine = (text: string): string => {
  const line = plainOutput(text).trimStart().split("\n", 1)[0] ?? "";
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
};

const text = (value: unknown): string => (typeof value === "string" ? value : "");

export interface Change {
  sign: "+" | "-" | " ";
  text: string;
}

const lines = (value: string): string[] => (value === "" ? [] : value.replace(/\n$/, "").split("\n"));

/**
 * The change an edit or a write makes, line by line: a plain LCS of old and new text, enough for a card.
 * Above 400 x 400 lines it says "all out, all in" instead of computing.
 */
export function changesOf(tool: Pick<ToolItem, "name" | "input">): Change[] {
  if (tool.name === "file_write") return lines(text(tool.input.content)).map((line) => ({ sign: "+", text: line }));
  if (tool.name !== "file_edit") return [];
  const before = lines(text(tool.input.old_string ?? tool.input.oldText ?? tool.input.old));
  const after = lines(text(tool.input.new_string ?? tool.input.newText ?? tool.input.new));
  return diffLines(before, after);
}

export function diffLines(before: readonly string[], after: readonly string[]): Change[] {
  if (before.length * after.length > 160_000) {
    return [
      ...before.map((line): Change => ({ sign: "-", text: line })),
      ...after.map((line): Change => ({ sign: "+", text: line })),
    ];
  }
  const width = after.length + 1;
  const table = new Uint16Array((before.length + 1) * width);
  for (let a = before.length - 1; a >= 0; a -= 1) {
    for (let b = after.length - 1; b >= 0; b -= 1) {
      table[a * width + b] =
        before[a] === after[b]
          ? table[(a + 1) * width + b + 1]! + 1
          : Math.max(table[(a + 1) * width + b]!, table[a * width + b + 1]!);
    }
  }
  const out: Change[] = [];
  let a = 0;
  let b = 0;
  while (a < before.length || b < after.length) {
    if (a < before.length && b < after.length && before[a] === after[b]) {
      out.push({ sign: " ", text: before[a]! });
      a += 1;
      b += 1;
    } else if (b >= after.length || (a < before.length && table[(a + 1) * width + b]! >= table[a * width + b + 1]!)) {
      out.push({ sign: "-", text: before[a]! });
      a += 1;
    } else {
      out.push({ sign: "+", text: after[b]! });
      b += 1;
    }
  }
  return out;
}

/** The first changed lines of a diff for the card, without leading context. */
export const preview = (changes: readonly Change[], most: number): Change[] =>
  changes.filter((change) => change.sign !== " ").slice(0, most);

/** A command in one or two words for the run bar: "pytest" of "cd src && FOO=1 .venv/bin/pytest -q". */
export function programOf(command: string): string {
  const own = command.trim().replace(/^(?:cd\s+\S+\s*(?:&&|;)\s*|\w+=\S*\s+)+/, "");
  const first = own.split(/\s+/, 1)[0] ?? "";
  const known = /^[\w./-]+$/.test(first) && !/^(for|while|if|case|set|export)$/.test(first);
  return known ? first.split("/").at(-1)! : own.slice(0, 32);
}
