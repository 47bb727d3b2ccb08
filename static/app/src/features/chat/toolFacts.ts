/** What a card's head says of a result, read from its text (spec tools.md). Pure; words are i18n keys. */
import type { ToolItem } from "./model";
import { plainOutput } from "./tools";

export type Fact =
  | { kind: "matches" | "files" | "entries"; n: number; more: boolean }
  | { kind: "status"; code: number; type: string }
  | { kind: "picture"; type: string; size: string; resized: boolean }
  | { kind: "exit"; code: number }
  | { kind: "signal"; n: number }
  | { kind: "timeout"; ms: number }
  | { kind: "ended" };

type Read = Pick<ToolItem, "name" | "output">;

const CUT = /^(?:\.\.\. )?\[(?:(?:Output|Content) )?truncated\b/m;

/** Something is missing from the result; the result says so itself, at its end. */
export const isCut = (output: string | null): boolean => output !== null && CUT.test(output.slice(-400));

const listed = (text: string, none: RegExp): { n: number; more: boolean } => {
  if (none.test(text)) return { n: 0, more: false };
  const lines = text.split("\n").filter((line) => line !== "" && !line.startsWith("[truncated"));
  return { n: lines.length, more: isCut(text) };
};

export function factOf(tool: Read): Fact | null {
  if (tool.output === null) return null;
  const text = plainOutput(tool.output);
  if (tool.name === "shell_exec") return endOf(text);
  if (text !== tool.output) return null; // refused or failed: the head says why
  switch (tool.name) {
    case "grep":
      return { kind: "matches", ...listed(text, /^No matches found/) };
    case "glob":
      return { kind: "files", ...listed(text, /^No files found/) };
    case "file_list":
      return { kind: "entries", ...listed(text, /^\(empty\b|^The folder is empty/i) };
    case "web_fetch": {
      const head = /^Status: (\d{3})\n(?:Content-Type: ([^;\n]*))?/.exec(text);
      return head ? { kind: "status", code: Number(head[1]), type: (head[2] ?? "").trim() } : null;
    }
    case "view_image": {
      const head = /^Image loaded: .*\(([a-z]+\/[\w.+-]+), ([\d.]+ KB), md5: [0-9a-f]+( — resized [^)]*)?\)/.exec(text);
      return head ? { kind: "picture", type: head[1]!, size: head[2]!, resized: head[3] !== undefined } : null;
    }
    default:
      return null;
  }
}

const ENDS = /^(?:Command failed: (?:exit code (\d+)|ended by signal (\d+)|it did not end)|Command timed out after (\d+)ms|Command was ended: |Command was stopped by the user)[^\n]*\n?/;

/** How a command ended; null = with success, or the text does not tell. */
function endOf(text: string): Fact | null {
  const found = ENDS.exec(text);
  if (!found) return null;
  if (found[1] !== undefined) return { kind: "exit", code: Number(found[1]) };
  if (found[2] !== undefined) return { kind: "signal", n: Number(found[2]) };
  if (found[3] !== undefined) return { kind: "timeout", ms: Number(found[3]) };
  return { kind: "ended" };
}

/** Output of a command without the line that tells how it ended: the head says that. */
export const commandOutput = (output: string): string => plainOutput(output).replace(ENDS, (line) => (endOf(line)?.kind === "ended" ? line : ""));
