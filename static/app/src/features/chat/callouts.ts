/**
 * Messages in a person's place that are not a person's words: reports, tasks of other agents, schedules, restarts.
 * Who sent it says the stored origin, never the text: a person may type what a report begins with. The text is read
 * only for details that the origin does not carry (session, workspace, state). Pure. Source: spec spa 40, relay R4, R5.
 */
import type { UserItem } from "./model";

export type Sender = "report" | "interim" | "task" | "relay" | "relayReport" | "relayInterim" | "cron" | "goal" | "nudge" | "skill";
export type Ending = "done" | "working" | "aborted";

export interface Callout {
  sender: Sender;
  name: string; // of the agent, the workspace folder or the skill; empty = unknown
  session: string | null;
  workspace: string | null; // null = this one
  ending: Ending | null; // of a report
  body: string;
}

const FROM = /^\(from: session ([^)\n]*)\)\n/;
const RELAY = /^\[Relay (interim )?report · workspace (.+?) · session (\S+) · status: ([a-z ]+)\][^\n]*\n*/;
const INTERIM = /^\[Sub-agent interim report · session \S+ · status: [a-z ]+\][^\n]*\n*/;
const ABORTED = /^SUB-AGENT ABORTED: /;
const OPENING = /^\[Session [^\]\n]+\]\n+/;
const SKILL = /^\[Skill activated: (\/[^\]\s]+)\]\s*/;

const none = { session: null, workspace: null, ending: null } as const;

/** Null = a message of a person (also one that came over a chat network). */
export function calloutOf(item: Pick<UserItem, "text" | "origin">): Callout | null {
  const name = typeof item.origin?.name === "string" ? item.origin.name : "";
  switch (item.origin?.kind) {
    case "report":
      return reportOf(item.text, name);
    case "agent": {
      const [session, body] = fromSession(item.text);
      return { ...none, sender: "task", name, session, body: body.replace(OPENING, "") };
    }
    case "relay":
      return { ...none, sender: "relay", name, body: item.text };
    case "cron":
    case "goal":
    case "nudge":
      return { ...none, sender: item.origin.kind, name, body: item.text };
    default: {
      // A skill's text goes with the person's own command; nothing else without an origin is set apart.
      const skill = SKILL.exec(item.text);
      return skill ? { ...none, sender: "skill", name: skill[1]!, body: item.text.slice(skill[0].length) } : null;
    }
  }
}

function fromSession(text: string): [string | null, string] {
  const from = FROM.exec(text);
  return from ? [from[1]!, text.slice(from[0].length)] : [null, text];
}

function reportOf(text: string, name: string): Callout {
  const relay = RELAY.exec(text);
  if (relay) {
    const [head, interim, workspace, session, status] = relay;
    const ending: Ending = interim ? "working" : status === "completed" ? "done" : "aborted";
    return { sender: interim ? "relayInterim" : "relayReport", name, session: session!, workspace: workspace!, ending, body: text.slice(head.length) };
  }
  const [session, body] = fromSession(text);
  const interim = INTERIM.exec(body);
  if (interim) return { ...none, sender: "interim", name, session, ending: "working", body: body.slice(interim[0].length) };
  return { ...none, sender: "report", name, session, ending: ABORTED.test(body) ? "aborted" : "done", body };
}

const SHORT_LINES = 4;
const SHORT_CHARS = 320;

/** Short enough to stand open: folding it would save no room. */
export const isShort = (body: string): boolean => body.length <= SHORT_CHARS && body.trim().split("\n").length <= SHORT_LINES;

/** The first words of a folded body: plain, on one line. */
export function gist(body: string): string {
  const line = body.split("\n").map((one) => one.replace(/^[#>*\-\s]+/, "").replace(/[*_`]/g, "").trim()).find((one) => one !== "") ?? "";
  return line.length > 160 ? `${line.slice(0, 160)}…` : line;
}

/** The session a delegation tool started or spoke to, with its workspace when it is another one; null = none. */
export function delegateOf(tool: { name: string; input: Record<string, unknown>; output: string | null }): { session: string; workspace: string | null } | null {
  if (!DELEGATES.has(tool.name) || tool.output === null) return null;
  let answer: unknown;
  try {
    answer = JSON.parse(tool.output);
  } catch {
    return null; // refused or cut: there is nothing to open
  }
  const { code, session_id: told, workspace: place } = (answer ?? {}) as Record<string, unknown>;
  if (code !== 0) return null;
  const session = [told, tool.input.session_id, tool.input.target_session_id].find((one) => typeof one === "string" && one !== "");
  const workspace = tool.name.startsWith("relay_") ? [place, tool.input.workspace].find((one) => typeof one === "string") : null;
  return typeof session === "string" ? { session, workspace: typeof workspace === "string" ? workspace : null } : null;
}

const DELEGATES = new Set(["start_session", "query_session", "interrupt_session", "stop_session", "relay_send", "relay_read", "relay_interrupt", "relay_stop"]);
