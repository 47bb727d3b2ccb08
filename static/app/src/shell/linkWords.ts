/** Pure: what to say about the link to the server. */
import type { LinkStatus } from "@/socket";
import type { RingState } from "@/shared/ui/Ring";

export const SHOW_AFTER = 2000; // ms down before the line appears: a blip is not worth a word

export interface LinkWords {
  ring: RingState;
  word: "live" | "connecting" | "waiting" | "offline" | "signedOut";
}

export function linkWords(link: LinkStatus): LinkWords {
  if (link.phase === "open") return { ring: "ok", word: "live" };
  if (link.phase === "signed-out") return { ring: "off", word: "signedOut" };
  if (!link.online) return { ring: "wait", word: "offline" };
  return { ring: "wait", word: link.phase === "waiting" ? "waiting" : "connecting" };
}

export type Line = { kind: "none" } | { kind: "offline" } | { kind: "reconnecting"; seconds: number | null };

/** The line under the top bar: only after two seconds down, with the seconds until the next try. */
export function linkLine(link: LinkStatus, now: number): Line {
  if (link.phase === "open" || link.phase === "signed-out" || link.phase === "idle") return { kind: "none" };
  if (link.downSince === null || now - link.downSince < SHOW_AFTER) return { kind: "none" };
  if (!link.online) return { kind: "offline" };
  const left = link.retryAt === null ? null : Math.ceil((link.retryAt - now) / 1000);
  return { kind: "reconnecting", seconds: left !== null && left > 0 ? left : null };
}
