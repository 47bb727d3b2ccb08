/**
 * Small changes to an agent.yaml as text: comments, order and everything else stay as a person wrote them.
 * Only keys of the first level; the server checks the result before it is stored.
 */
interface Block {
  start: number;
  end: number; // first line after it
}

/** Lines of a key of the first level with its value; null = there is no such key. */
function blockOf(lines: readonly string[], key: string): Block | null {
  const start = lines.findIndex((line) => line.startsWith(`${key}:`));
  if (start < 0) return null;
  let end = start + 1;
  while (end < lines.length && /^(\s|-|\]|\}|$)/.test(lines[end]!) && !lines[end]!.startsWith("---")) end += 1;
  while (end > start + 1 && lines[end - 1]!.trim() === "") end -= 1; // empty lines belong to what follows
  return { start, end };
}

const eolOf = (yaml: string): string => (yaml.includes("\r\n") ? "\r\n" : "\n");
const plain = (value: string): boolean => /^[\p{L}_][\p{L}\p{N}_.-]*$/u.test(value);
const written = (value: string): string => (plain(value) ? value : JSON.stringify(value));

const ITEM = /^\s*-\s+(["']?)(.*?)\1\s*(?:#.*)?$/;

function splice(yaml: string, block: Block | null, lines: string[], fresh: readonly string[]): string {
  if (block) lines.splice(block.start, block.end - block.start, ...fresh);
  else {
    while (lines.at(-1)?.trim() === "") lines.pop();
    lines.push(...fresh, "");
  }
  return lines.join(eolOf(yaml));
}

/** `key` as a list of these names. Lines of names that stay keep their comments; an empty list removes the key. */
export function setList(yaml: string, key: string, values: readonly string[]): string {
  const lines = yaml.split(/\r?\n/);
  const block = blockOf(lines, key);
  if (!block && values.length === 0) return yaml;
  const old = new Map((block ? lines.slice(block.start + 1, block.end) : []).flatMap((line) => {
    const item = ITEM.exec(line)?.[2];
    return item === undefined ? [] : [[item, line] as const];
  }));
  const fresh = values.length === 0 ? [] : [`${key}:`, ...values.map((value) => old.get(value) ?? `  - ${written(value)}`)];
  return splice(yaml, block, lines, indented(fresh));
}

/** A list mixes no indentations: all items stand as the first one does. */
function indented(lines: readonly string[]): string[] {
  const lead = /^\s*/.exec(lines[1] ?? "")?.[0] ?? "  ";
  return lines.map((line, at) => (at === 0 ? line : lead + line.trimStart()));
}

/** `key` as one line of text, in its place or, when it is new, at the top. */
export function setText(yaml: string, key: string, value: string): string {
  const lines = yaml.split(/\r?\n/);
  const block = blockOf(lines, key);
  const fresh = `${key}: ${JSON.stringify(value)}`;
  if (block) return splice(yaml, block, lines, [fresh]);
  return [fresh, ...lines].join(eolOf(yaml));
}
