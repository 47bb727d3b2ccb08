/** What was asked, and hits as a person reads them: by session, the words marked. Pure. */
import type { Hit } from "@/api/search";

const TERM = /"([^"]+)"|(\S+)/g;
export const MOST_TERMS = 10; // the server ignores the rest

/** The words and "quoted phrases" of a question, as the server reads them (sessions_app/search/question.py). */
export function termsOf(text: string): string[] {
  const terms = [...text.normalize("NFC").matchAll(TERM)].map(([, phrase, word]) => phrase?.trim() || word || "");
  return [...new Set(terms.filter((term) => term.replaceAll('"', "") !== ""))].slice(0, MOST_TERMS);
}

const TABLE_RULE = /\|(?:\s*:?-{2,}:?\s*\|)+/g;

/** A snippet without the signs of markdown that only a rendered text makes sense of. A pipe outside a table may be a command. */
export function plain(snippet: string): string {
  const text = snippet.replace(/\*\*|`+/g, "").replace(/^#\s+|(^|\s)#{2,6}\s+/g, "$1");
  const cells = text.replace(TABLE_RULE, "|");
  return cells === text ? text : cells.replace(/\s*\|[\s|]*/g, "  ").trim();
}

export interface Part {
  text: string;
  hit: boolean;
}

/** A text cut at the terms; put together it is the text again. Upper and lower case are the same. */
export function marked(text: string, terms: readonly string[]): Part[] {
  // A snippet is one line: in a phrase any white space stands for any other.
  const patterns = [...terms].sort((a, b) => b.length - a.length).map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/\s+/g, "\\s+"));
  if (patterns.length === 0) return text === "" ? [] : [{ text, hit: false }];
  // Split by a pattern with one group: what stands at odd places is what it found.
  return text
    .split(new RegExp(`(${patterns.join("|")})`, "giu"))
    .map((part, place) => ({ text: part, hit: place % 2 === 1 }))
    .filter((part) => part.text !== "");
}

export interface Group {
  key: string;
  workspacePath: string;
  sessionId: string;
  title: string;
  hits: readonly Hit[];
}

/** Hits by session. A session stands where its newest hit is; inside, newest first, as they came. */
export function grouped(hits: readonly Hit[]): Group[] {
  const groups = new Map<string, Group & { hits: Hit[] }>();
  const seen = new Set<number>();
  for (const hit of hits) {
    if (seen.has(hit.entryId)) continue; // pages that overlap
    seen.add(hit.entryId);
    const key = `${hit.workspacePath}\n${hit.sessionId}`;
    const group = groups.get(key);
    if (group) group.hits.push(hit);
    else groups.set(key, { key, workspacePath: hit.workspacePath, sessionId: hit.sessionId, title: hit.title, hits: [hit] });
  }
  return [...groups.values()];
}
