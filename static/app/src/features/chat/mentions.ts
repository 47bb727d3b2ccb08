/** `@file` and `@scope folder` in a message: pure. The server expands `@scope`; named files stand in front of the text. */

/** What is being typed behind an `@`, from `start` to the caret. */
export interface Mention {
  kind: "file" | "scope";
  start: number;
  query: string;
}

const SCOPE = /(?:^|\s)@scope(?:\s+("[^"\n]*|[^\s"]*))?$/;
const FILE = /(?:^|\s)@([^\s@]*)$/;

/** The mention that ends at the caret. `@scope` wins over `@`. */
export function mentionAt(text: string, caret: number): Mention | null {
  const before = text.slice(0, caret);
  const scope = SCOPE.exec(before);
  if (scope) return { kind: "scope", start: before.lastIndexOf("@scope"), query: (scope[1] ?? "").replace(/^"/, "") };
  const file = FILE.exec(before);
  return file ? { kind: "file", start: caret - file[1]!.length - 1, query: file[1]! } : null;
}

/** The text without the `@...` of a file, or with the whole `@scope folder `; and where the caret goes. */
export function settled(text: string, mention: Mention, caret: number, path: string): { text: string; caret: number } {
  const quoted = /[\s"]/.test(path) ? `"${path}"` : path;
  const put = mention.kind === "scope" ? `@scope ${quoted} ` : "";
  const rest = text.slice(caret);
  const head = text.slice(0, mention.start) + put;
  return { text: head + (put !== "" || head === "" || /\s$/.test(head) ? rest.replace(/^ /, "") : rest), caret: head.length };
}

const BLOCK = /^\[Referenced files:\n((?: {2}- [^\n]+\n)+)\]\n\n/;

/** What goes to the agent: the files by path, then the person's own words. */
export function withReferences(text: string, paths: readonly string[]): string {
  if (paths.length === 0) return text;
  return `[Referenced files:\n${paths.map((path) => `  - ${path}\n`).join("")}]\n\n${text}`;
}

/** The same the other way round, for the conversation: chips and the person's own words. */
export function splitReferences(text: string): { own: string; paths: string[] } {
  const found = BLOCK.exec(text);
  if (!found) return { own: text, paths: [] };
  return { own: text.slice(found[0].length), paths: found[1]!.trimEnd().split("\n").map((line) => line.slice(4)) };
}
