/**
 * Colours for code: one worker, started at the first code block; plain text until it answers, with the same metrics.
 * Answers are kept by language and text, so a block that scrolls away and back is coloured at once.
 */
import { useEffect, useState } from "react";

export type Run = [length: number, name: string];

const MOST_CHARS = 100_000; // longer code stays plain
const MOST_KEPT = 300;
const kept = new Map<string, Run[]>();
const waiting = new Map<number, { key: string; done: (runs: Run[]) => void }>();
let worker: Worker | null | undefined;
let serial = 0;

function start(): Worker | null {
  if (worker !== undefined) return worker;
  if (typeof Worker === "undefined") return (worker = null);
  worker = new Worker(new URL("./highlight.worker.ts", import.meta.url), { type: "module" });
  worker.onmessage = (event: MessageEvent<{ id: number; runs: Run[] }>) => {
    const ask = waiting.get(event.data.id);
    waiting.delete(event.data.id);
    if (!ask) return;
    kept.set(ask.key, event.data.runs);
    if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
    ask.done(event.data.runs);
  };
  worker.onerror = () => {
    // Without colours everything can still be read.
    worker?.terminate();
    worker = null;
    waiting.clear();
  };
  return worker;
}

/** Runs that cover `code`, or null: show it plain. `pause` while the text still grows. */
export function useRuns(language: string, code: string, pause: boolean): Run[] | null {
  const key = `${language}\n${code}`;
  const [answer, setAnswer] = useState<{ key: string; runs: Run[] } | null>(null);
  const known = kept.get(key) ?? (answer?.key === key ? answer.runs : null);
  const skip = pause || language === "" || code.length > MOST_CHARS || known !== null;
  useEffect(() => {
    if (skip) return undefined;
    const target = start();
    if (!target) return undefined;
    const id = (serial += 1);
    waiting.set(id, { key, done: (runs) => setAnswer({ key, runs }) });
    target.postMessage({ id, language: language.toLowerCase(), code });
    return () => {
      waiting.delete(id);
    };
  }, [skip, key, language, code]);
  return known;
}
