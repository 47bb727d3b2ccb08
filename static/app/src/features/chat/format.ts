/** Numbers as the design writes them: 850 ms, 1.2 s, 18.4k, $0.02, under a cent "<$0.01". Pure. */
import { clock } from "@/shared/clock";

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  return clock(ms);
}

export function count(value: number): string {
  if (value < 1000) return String(value);
  if (value < 100_000) return `${(value / 1000).toFixed(1).replace(/\.0$/, "")}k`;
  if (value < 1_000_000) return `${Math.round(value / 1000)}k`;
  return `${(value / 1_000_000).toFixed(1).replace(/\.0$/, "")}M`;
}

export { clock };
export { money } from "@/shared/money";

/** The share of the input that came from the provider's cache, in whole percent; null = nothing was read. */
export function cachedPercent(input: number, read: number, write: number): number | null {
  const all = input + read + write;
  return all > 0 && read > 0 ? Math.round((read / all) * 100) : null;
}

export const timeOfDay = (at: number, language: string): string =>
  new Intl.DateTimeFormat(language, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(at);

export const dayKey = (at: number): string => {
  const day = new Date(at);
  return `${day.getFullYear()}-${day.getMonth()}-${day.getDate()}`;
};

/** "today", "yesterday", or a date such as Mon 23 Nov (with the year when it is not this one). */
export function dayLabel(at: number, now: number, language: string): "today" | "yesterday" | { date: string } {
  if (dayKey(at) === dayKey(now)) return "today";
  if (dayKey(at) === dayKey(now - 86_400_000)) return "yesterday";
  const sameYear = new Date(at).getFullYear() === new Date(now).getFullYear();
  const parts: Intl.DateTimeFormatOptions = { weekday: "short", day: "numeric", month: "short" };
  if (!sameYear) parts.year = "numeric";
  return { date: new Intl.DateTimeFormat(language, parts).format(at) };
}
