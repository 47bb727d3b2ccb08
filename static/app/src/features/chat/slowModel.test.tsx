import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { startI18n } from "@/shared/i18n";
import { socket } from "@/socket";
import { RunBar } from "./parts/RunBar";
import { allItems } from "./reducer";
import { attachChat, send, useChat, viewOf } from "./store";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

type Out = { type: string; clientMsgId?: string };

/** A server on a healthy link: it acknowledges messages, answers pings, and says nothing else by itself. */
class Server {
  static links: Server[] = [];
  static mute = false;
  onopen: ((event: unknown) => void) | null = null;
  onclose: ((event: { code?: number }) => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  closed = false;
  constructor() {
    Server.links.push(this);
    setTimeout(() => this.onopen?.({}), 0);
  }
  send(data: string): void {
    const frame = JSON.parse(data) as Out;
    if (Server.mute) return;
    if (frame.type === "__ping__") this.says({ type: "__pong__" });
    if (frame.type === "chat") this.says({ type: "chat:ack", clientMsgId: frame.clientMsgId, entryId: 1 });
  }
  says(frame: object): void {
    setTimeout(() => !this.closed && this.onmessage?.({ data: JSON.stringify(frame) }), 0);
  }
  close(): void {
    this.closed = true;
  }
}

let leave: (() => void)[] = [];

beforeEach(async () => {
  localStorage.clear();
  sessionStorage.clear();
  Server.links = [];
  Server.mute = false;
  vi.useFakeTimers();
  vi.stubGlobal("WebSocket", Server);
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(JSON.stringify({ agents: [{ id: "default", name: "Default" }], sessions: [], nextCursor: null }))));
  await startI18n();
  socket.start("/w");
  leave = [attachChat("/w"), () => socket.stop()];
  await pass(100);
});
afterEach(() => {
  for (const end of leave) act(end);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const pass = (ms: number): Promise<unknown> => act(() => vi.advanceTimersByTimeAsync(ms));
const view = () => viewOf(useChat.getState(), useChat.getState().active);
const read = (): string[] => [...allItems(view()), ...view().pending].map((item) => `${item.kind} ${"text" in item ? item.text : ""}${item.kind === "user" ? ` (${item.state})` : ""}`);

/** What the bar above the composer says, as it is drawn. */
function bar(): () => string {
  const page = document.createElement("div");
  const root = createRoot(page);
  act(() => root.render(<RunBar id={useChat.getState().active} armed={false} canWrite />));
  leave.unshift(() => root.unmount());
  return () => page.querySelector(".chat-run")?.textContent ?? "";
}

describe("a model that needs a minute for its first word", () => {
  it("is waited for: no message is marked, the run goes on, the link is kept, and the word lands in the log", async () => {
    send(useChat.getState().active, "Think hard");
    const shown = bar();
    for (let second = 1; second <= 60; second += 1) {
      await pass(1000);
      expect(read()).toEqual(["user Think hard (sent)"]);
      expect(shown()).toMatch(new RegExp(`^Starting${second < 60 ? `0:${String(second).padStart(2, "0")}` : "1:00"}`));
    }
    expect(Server.links).toHaveLength(1);
    expect(socket.status().phase).toBe("open");
    Server.links[0]!.says({ type: "chat:stream", sessionId: useChat.getState().active, text: "At last.", turnId: "t1", agentName: "Default" });
    await pass(1000);
    expect(read()).toEqual(["user Think hard (sent)", "text At last."]);
    expect(shown()).toContain("Writing");
  });

  it("is not taken for a dead server, which a new link is tried for within a minute", async () => {
    send(useChat.getState().active, "Anybody there?");
    await pass(1000);
    Server.mute = true;
    await pass(60_000);
    expect(Server.links.length).toBeGreaterThan(1);
    expect(read()).toEqual(["user Anybody there? (sent)"]);
  });
});
