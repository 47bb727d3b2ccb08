/** One clock for everything that counts seconds: it ticks once a second while somebody looks, and stops when hidden. */
import { useSyncExternalStore } from "react";

let now = Date.now();
let timer: number | null = null;
const listeners = new Set<() => void>();

function beat(): void {
  now = Date.now();
  for (const listener of [...listeners]) listener();
}

function arrange(): void {
  const wanted = listeners.size > 0 && document.visibilityState === "visible";
  if (wanted && timer === null) {
    beat();
    timer = window.setInterval(beat, 1000);
  } else if (!wanted && timer !== null) {
    window.clearInterval(timer);
    timer = null;
  }
}

if (typeof document !== "undefined") document.addEventListener("visibilitychange", arrange);

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  arrange();
  return () => {
    listeners.delete(listener);
    arrange();
  };
}

const idle = (): (() => void) => () => undefined;

/** Milliseconds of the present second; does not tick while `active` is false. */
export const useNow = (active = true): number => useSyncExternalStore(active ? subscribe : idle, () => (active ? now : 0));
