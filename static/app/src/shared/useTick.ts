import { useEffect, useState } from "react";

const listeners = new Set<() => void>();
let timer: number | undefined;

function watch(): void {
  const wanted = listeners.size > 0 && document.visibilityState === "visible";
  if (wanted && timer === undefined) timer = window.setInterval(() => listeners.forEach((listener) => listener()), 1000);
  if (!wanted && timer !== undefined) {
    window.clearInterval(timer);
    timer = undefined;
  }
}
document.addEventListener("visibilitychange", watch);

/** The time in ms, once a second while `on` and the page is visible: one timer for everyone. */
export function useTick(on: boolean): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    if (!on) return undefined;
    const tick = () => setNow(Date.now());
    listeners.add(tick);
    watch();
    tick();
    return () => {
      listeners.delete(tick);
      watch();
    };
  }, [on]);
  return now;
}
