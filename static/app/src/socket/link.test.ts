import { describe, expect, it } from "vitest";

import type { ChatOut, Frame } from "./frames";
import { newLink, step, wakeAt, type Effect, type Input, type Link } from "./link";

/** A link under test: feeds inputs, keeps the state and every effect. */
class Rig {
  link: Link = newLink(0);
  now = 0;
  log: Effect[] = [];

  feed(input: Input): Effect[] {
    const [next, effects] = step(this.link, input);
    this.link = next;
    this.log.push(...effects);
    return effects;
  }
  start(): this {
    this.feed({ kind: "start", project: "/w", now: this.now });
    return this;
  }
  open(): Effect[] {
    return this.feed({ kind: "opened", socket: this.link.socket, now: this.now });
  }
  close(code?: number): Effect[] {
    return this.feed({ kind: "closed", socket: this.link.socket, code, now: this.now });
  }
  frame(frame: Frame): Effect[] {
    return this.feed({ kind: "frame", socket: this.link.socket, frame, now: this.now });
  }
  chat(id: string, sessionId = "s"): Effect[] {
    return this.feed({ kind: "chat", frame: chat(id, sessionId), now: this.now });
  }
  /** Let time pass, waking the machine whenever it asked for it. `alive` answers each ping. */
  pass(ms: number, alive = false): Effect[] {
    const end = this.now + ms;
    const effects: Effect[] = [];
    for (let guard = 0; guard < 10_000; guard += 1) {
      const at = wakeAt(this.link);
      if (at === null || at > end) break;
      this.now = Math.max(this.now, at);
      const got = this.feed({ kind: "tick", now: this.now });
      effects.push(...got);
      if (alive && got.some((effect) => effect.kind === "transmit" && effect.frame.type === "__ping__")) {
        this.frame({ type: "__pong__" });
      }
    }
    this.now = end;
    return effects;
  }
}

const chat = (id: string, sessionId = "s"): ChatOut => ({
  type: "chat",
  sessionId,
  projectId: "/w",
  message: `text ${id}`,
  clientMsgId: id,
});

const sent = (effects: Effect[]): string[] =>
  effects.flatMap((effect) =>
    effect.kind === "transmit"
      ? [effect.frame.type === "chat" ? `chat ${effect.frame.clientMsgId}` : effect.frame.type]
      : [],
  );
const kinds = (effects: Effect[]): string[] => effects.map((effect) => effect.kind);

describe("the link", () => {
  it("binds the workspace when no session is open yet", () => {
    const rig = new Rig().start();
    expect(sent(rig.open())).toEqual(["subscribe"]);
  });

  it("after connecting sends the queue, then the chats in order, then one subscribe per tab", () => {
    const rig = new Rig().start();
    rig.feed({ kind: "subscribe", sessionId: "a", now: 0 });
    rig.feed({ kind: "subscribe", sessionId: "a", now: 0 });
    rig.chat("1", "a");
    rig.chat("2", "b");
    rig.feed({ kind: "send", frame: { type: "chat:stop", sessionId: "a" }, now: 0 });
    expect(sent(rig.open())).toEqual(["chat:stop", "chat 1", "chat 2", "subscribe", "subscribe"]);
  });

  it("pings every 15 s and closes after two pings without any answer", () => {
    const rig = new Rig().start();
    rig.open();
    expect(sent(rig.pass(15_000))).toEqual(["__ping__"]);
    expect(sent(rig.pass(15_000))).toEqual(["__ping__"]);
    expect(kinds(rig.pass(15_000))).toEqual(["close", "connect"]);
  });

  it("stays open for an hour when every ping is answered", () => {
    const rig = new Rig().start();
    rig.open();
    rig.pass(3_600_000, true);
    expect(rig.link.phase).toBe("open");
    expect(rig.link.opens).toBe(1);
  });

  it("gives a connection attempt up after 10 s and asks whether the login is still good", () => {
    const rig = new Rig().start();
    expect(kinds(rig.pass(10_000))).toEqual(["close", "check-auth"]);
    expect(rig.link.phase).toBe("waiting");
  });

  it("backs off 1, 2, 4, 8, 16, 30, 30 seconds", () => {
    const rig = new Rig().start();
    const waits: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      rig.close();
      waits.push((rig.link.retryAt ?? 0) - rig.now);
      rig.pass(waits[round]!);
    }
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it("begins the back-off anew once a frame has come in", () => {
    const rig = new Rig().start();
    rig.close();
    rig.pass(1000);
    rig.open();
    rig.frame({ type: "state:snapshot", snapshot: { recentMessages: [] } });
    rig.close();
    expect(rig.link.retryAt).toBe(rig.now + 1000);
  });

  it("a close before open with a 401 leads to the login page and no further attempt", () => {
    const rig = new Rig().start();
    expect(kinds(rig.close())).toEqual(["check-auth"]);
    expect(kinds(rig.feed({ kind: "auth", signedIn: false, now: rig.now }))).toEqual(["close", "signed-out"]);
    expect(kinds(rig.pass(600_000))).toEqual([]);
  });

  it("a close before open with a good login just waits", () => {
    const rig = new Rig().start();
    rig.close();
    rig.feed({ kind: "auth", signedIn: true, now: rig.now });
    expect(kinds(rig.pass(1000))).toEqual(["connect"]);
  });

  it("tries at once when the network comes back, and on demand", () => {
    const rig = new Rig().start();
    rig.close();
    expect(kinds(rig.feed({ kind: "online", now: rig.now }))).toEqual(["connect"]);
    rig.close();
    expect(kinds(rig.feed({ kind: "retry", now: rig.now }))).toEqual(["connect"]);
  });

  it("reconnects a tab that was hidden for 5 minutes and heard nothing for 45 s, and no other", () => {
    const rig = new Rig().start();
    rig.open();
    rig.feed({ kind: "hidden", now: 0 });
    rig.now = 60_000;
    expect(kinds(rig.feed({ kind: "visible", now: rig.now }))).toEqual([]);
    rig.feed({ kind: "hidden", now: rig.now });
    rig.now = 360_000;
    expect(kinds(rig.feed({ kind: "visible", now: rig.now }))).toEqual(["close", "connect"]);
  });

  it("ignores what an older socket still says", () => {
    const rig = new Rig().start();
    const old = rig.link.socket;
    rig.pass(10_000);
    rig.pass(1000);
    expect(rig.feed({ kind: "opened", socket: old, now: rig.now })).toEqual([]);
    expect(rig.feed({ kind: "closed", socket: old, now: rig.now })).toEqual([]);
    expect(rig.link.phase).toBe("connecting");
  });

  it("subscribes again when the server released the listener of an open tab", () => {
    const rig = new Rig().start();
    rig.open();
    rig.feed({ kind: "subscribe", sessionId: "a", now: 0 });
    expect(sent(rig.frame({ type: "listener:released", sessionId: "a" }))).toEqual(["subscribe"]);
    expect(sent(rig.frame({ type: "listener:released", sessionId: "other" }))).toEqual([]);
  });
});

describe("delivery of a chat", () => {
  it("is done with the ack", () => {
    const rig = new Rig().start();
    rig.open();
    expect(sent(rig.chat("1"))).toEqual(["chat 1"]);
    expect(rig.frame({ type: "chat:ack", clientMsgId: "1", entryId: 7 })).toEqual([
      { kind: "acked", clientMsgId: "1", entryId: 7 },
    ]);
    expect(rig.link.chats).toEqual([]);
  });

  it("without an ack for 5 s goes again over a new link, in order, three times in all", () => {
    const rig = new Rig().start();
    rig.open();
    rig.chat("1");
    rig.chat("2");
    for (let round = 0; round < 2; round += 1) {
      expect(kinds(rig.pass(5000))).toEqual(["close", "connect"]);
      expect(sent(rig.open()).slice(0, 2)).toEqual(["chat 1", "chat 2"]);
    }
    expect(kinds(rig.pass(10_000, true))).not.toContain("close");
  });

  it("fails 120 s after it was sent, and not earlier", () => {
    const rig = new Rig().start();
    rig.chat("1");
    expect(rig.pass(119_999).filter((effect) => effect.kind === "failed")).toEqual([]);
    expect(rig.pass(1).filter((effect) => effect.kind === "failed")).toEqual([
      { kind: "failed", clientMsgId: "1", reason: "deadline" },
    ]);
  });

  it("takes a new link first when nothing came in for 30 s", () => {
    const rig = new Rig().start();
    rig.open();
    rig.now = 30_001;
    const effects = rig.chat("1");
    expect(kinds(effects)).toEqual(["close", "connect"]);
    expect(sent(rig.open())[0]).toBe("chat 1");
  });

  it("keeps 100; the oldest fails where it can be seen", () => {
    const rig = new Rig().start();
    for (let n = 0; n < 101; n += 1) rig.chat(String(n));
    expect(rig.log.filter((effect) => effect.kind === "failed")).toEqual([
      { kind: "failed", clientMsgId: "0", reason: "overflow" },
    ]);
    expect(rig.link.chats).toHaveLength(100);
  });

  it("test_X6: typed after the login expired, it waits at the login page and goes out once", () => {
    const rig = new Rig().start();
    rig.open();
    rig.close();
    rig.pass(1000);
    rig.close();
    rig.feed({ kind: "auth", signedIn: false, now: rig.now });
    rig.chat("1");
    expect(rig.pass(600_000)).toEqual([]);
    rig.feed({ kind: "signed-in", now: rig.now });
    expect(sent(rig.open()).filter((type) => type.startsWith("chat"))).toEqual(["chat 1"]);
    expect(rig.link.chats[0]!.deadline).toBe(rig.now + 120_000);
  });

  it("that the server refuses for good is not sent again", () => {
    const rig = new Rig().start();
    rig.open();
    rig.chat("1");
    rig.frame({ type: "error", error: "Session s was deleted", sessionId: "s", clientMsgId: "1" });
    expect(rig.link.chats).toEqual([]);
  });
});

describe("other frames", () => {
  it("wait for the link, at most 100, the oldest go", () => {
    const rig = new Rig().start();
    for (let n = 0; n < 101; n += 1) {
      rig.feed({ kind: "send", frame: { type: "queue:remove", sessionId: "s", entryId: n }, now: 0 });
    }
    const queued = rig.link.queue as unknown as { entryId: number }[];
    expect([queued.length, queued[0]!.entryId]).toEqual([100, 1]);
  });

  it("typed into a terminal while the link is down are never replayed", () => {
    const rig = new Rig().start();
    for (let n = 0; n < 10_000; n += 1) {
      rig.feed({ kind: "send", frame: { type: "terminal:input", terminalId: "t", data: "x" }, now: 0 });
    }
    expect(rig.link.queue).toEqual([]);
  });
});

describe("any run of inputs", () => {
  /** A small generator of pseudo-random numbers, so that a failure can be run again. */
  const random = (seed: number) => () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return seed / 4_294_967_296;
  };

  it("never loses a chat: each one is acked, failed or still pending, and is sent in order on every link", () => {
    for (let seed = 1; seed <= 200; seed += 1) {
      const next = random(seed);
      const rig = new Rig().start();
      const given = new Set<string>();
      const ended = new Set<string>();
      for (let turn = 0; turn < 120; turn += 1) {
        const choice = Math.floor(next() * 8);
        if (choice === 0) {
          given.add(String(turn));
          rig.chat(String(turn));
        } else if (choice === 1) rig.open();
        else if (choice === 2) rig.close();
        else if (choice === 3 && rig.link.chats.length > 0) {
          const pending = rig.link.chats[0]!.frame.clientMsgId;
          rig.frame({ type: "chat:ack", clientMsgId: pending, entryId: turn });
        } else if (choice === 4) rig.pass(Math.floor(next() * 20_000), next() > 0.5);
        else if (choice === 5) rig.feed({ kind: next() > 0.5 ? "online" : "offline", now: rig.now });
        else if (choice === 6) rig.feed({ kind: next() > 0.5 ? "hidden" : "visible", now: rig.now });
        else rig.feed({ kind: "retry", now: rig.now });
      }
      for (const effect of rig.log) {
        if (effect.kind === "acked" || effect.kind === "failed") ended.add(effect.clientMsgId);
      }
      const pending = rig.link.chats.map((entry) => entry.frame.clientMsgId);
      expect(new Set([...ended, ...pending])).toEqual(given);
      const perSocket = new Map<number, number[]>();
      for (const effect of rig.log) {
        if (effect.kind !== "transmit" || effect.frame.type !== "chat") continue;
        const list = perSocket.get(effect.socket) ?? [];
        list.push(Number(effect.frame.clientMsgId));
        perSocket.set(effect.socket, list);
      }
      for (const list of perSocket.values()) expect(list).toEqual([...list].sort((a, b) => a - b));
    }
  });
});
