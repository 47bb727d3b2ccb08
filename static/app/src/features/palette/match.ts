/** Pure: what the palette shows for what was typed. */
export type Scope = "all" | "sessions" | "commands" | "files";

export interface Query {
  scope: Scope;
  text: string;
}

/** `>` asks for commands, `#` for sessions; the rest of the line is the text. */
export function parseQuery(typed: string, scope: Scope = "all"): Query {
  if (typed.startsWith(">")) return { scope: "commands", text: typed.slice(1).trim() };
  if (typed.startsWith("#")) return { scope: "sessions", text: typed.slice(1).trim() };
  return { scope, text: typed.trim() };
}

/** Every word must appear; a hit at the start of the label counts most, then at the start of a word. 0 = no match. */
export function score(label: string, text: string): number {
  if (!text) return 1;
  const lower = label.toLowerCase();
  const words = text.toLowerCase().split(/\s+/);
  let sum = 0;
  for (const word of words) {
    const at = lower.indexOf(word);
    if (at < 0) return 0;
    sum += at === 0 ? 4 : /[\s:,.（(]/.test(lower[at - 1] ?? "") ? 3 : 1;
  }
  return sum;
}

/** Best first; equals keep their order. */
export function rank<T>(items: readonly T[], labelOf: (item: T) => string, text: string, limit: number): T[] {
  return items
    .map((item, index) => ({ item, index, points: score(labelOf(item), text) }))
    .filter((one) => one.points > 0)
    .sort((a, b) => b.points - a.points || a.index - b.index)
    .slice(0, limit)
    .map((one) => one.item);
}

/** The parts of a label, those that were searched for marked. */
export function highlight(label: string, text: string): { text: string; hit: boolean }[] {
  const words = text.split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (words.length === 0) return [{ text: label, hit: false }];
  return label
    .split(new RegExp(`(${words.join("|")})`, "gi"))
    .filter(Boolean)
    .map((part) => ({ text: part, hit: words.some((word) => new RegExp(`^${word}$`, "i").test(part)) }));
}
