import { describe, expect, it } from "vitest";

import type { Frame, LogMessage, QueueItem, WireBlock } from "@/socket/frames";
import { newView, type Item, type UserItem, type View } from "./model";
import { allItems, reduceView, type Local } from "./reducer";
import { localRows } from "./rows";

const S = "s1";
let clock = 0;
const play = (frames: (Frame | Local)[], view: View = newView(S)): View =>
  frames.reduce((state, frame) => reduceView(state, frame, (clock += 10)), view);

const stream = (text: string, turnId = "t1"): Frame => ({ type: "chat:stream", sessionId: S, text, turnId, agentName: "Default" });
const think = (text: string, turnId = "t1"): Frame => ({ type: "chat:thinking", sessionId: S, text, turnId, agentName: "Default" });
const call = (id: string, turnId = "t1", tool = "file_read"): Frame => ({
  type: "agent:tool_call", sessionId: S, tool, toolUseId: id, input: { path: id }, turnId, agentName: "Default",
});
const result = (id: string, text: string): Frame => ({
  type: "agent:tool_result", sessionId: S, toolUseId: id, result: text, agentName: "Default", durationMs: 3,
});
const used = (turnId = "t1", output = 5): Frame => ({
  type: "chat:usage", sessionId: S, contextTokens: 100, outputTokens: output, turnId, modelId: "m",
  usage: { inputTokens: 10, outputTokens: output, totalTokens: 10 + output },
});
const complete: Frame = { type: "chat:complete", sessionId: S };
const queue = (...items: QueueItem[]): Frame =>
  ({ type: "queue:changed", sessionId: S, items }) as unknown as Frame;
const mine = (id: string, text = id): Local => ({
  type: "local:send",
  item: { kind: "user", key: `client:${id}`, at: clock, text, state: "sending", clientMsgId: id } satisfies UserItem,
});
const acked = (clientMsgId: string, entryId: number): Local => ({ type: "local:acked", clientMsgId, entryId });

/** What a person reads, without times and keys. */
const read = (view: View): string[] =>
  allItems(view).map((item) => {
    switch (item.kind) {
      case "user":
        return `user ${item.text}${item.deleted ? " (deleted)" : ""}`;
      case "text":
      case "thinking":
        return `${item.kind} ${item.turnId} ${item.text}`;
      case "tool":
        return `tool ${item.toolUseId} ${item.output ?? "…"}`;
      case "usage":
        return `usage ${item.turnId} ${item.usage.outputTokens}`;
      case "notice":
        return `${item.level} ${item.text}`;
      case "summary":
        return "summary";
    }
  });

describe("a slash command", () => {
  const asked = (line: string): Local => ({ type: "local:command", command: { key: line, line } });
  const said = (text: string, more = {}): Frame => ({ type: "chat:system", sessionId: S, text, ...more });
  const waiting = (...frames: (Frame | Local)[]): string[] => play([asked("/help"), asked("/session compact"), ...frames]).executing.map((one) => one.line);

  it("stands in the log until its answer is there, and each answer is that of the oldest", () => {
    expect(waiting()).toEqual(["/help", "/session compact"]);
    expect(waiting(said("Commands:"))).toEqual(["/session compact"]);
    expect(waiting(said("Same"), said("Same"))).toEqual([]); // shown once, yet two answers
    expect(waiting(said("Commands:"), { type: "compact:started", sessionId: S, seq: 7 })).toEqual([]);
    expect(waiting(said("Commands:"), { type: "session:compacted", sessionId: S, message: "Nothing to compact" })).toEqual([]);
    expect(waiting({ type: "error", error: "Unknown command: help", sessionId: S })).toEqual(["/session compact"]);
  });

  it("waits on while the agent and its run have their say", () => {
    const ofTheRun = [stream("a"), call("x"), result("x", "ok"), said("Retrying", { seq: 3 }), said("Delivered", { code: "report" }), complete];
    expect(waiting(...ofTheRun, { type: "error", error: "model gone", sessionId: S, seq: 9 })).toEqual(["/help", "/session compact"]);
  });

  it("has no answer any more once the link is lost", () => {
    expect(waiting({ type: "local:lost" })).toEqual([]);
  });
});

describe("deltas", () => {
  it("of one kind and turn join; another kind, turn or a tool call begins a new block", () => {
    const view = play([think("a"), think("b"), stream("c"), stream("d"), call("x"), stream("e"), stream("f", "t2")]);
    expect(read(view)).toEqual(["thinking t1 ab", "text t1 cd", "tool x …", "text t1 e", "text t2 f"]);
  });

  it("go on in their block when a notice came in between", () => {
    const view = play([stream("a"), { type: "chat:system", sessionId: S, text: "note" }, stream("b")]);
    expect(read(view)).toEqual(["text t1 ab", "system note"]);
  });

  it("of a sub-agent leave the root's log alone", () => {
    const view = play([stream("a"), { ...(stream("child", "c1") as object), taskId: "s1>c" } as Frame]);
    expect(read(view)).toEqual(["text t1 a"]);
  });

  it("end a thinking block and say how long it took", () => {
    const view = play([think("a"), stream("b")]);
    expect(view.live[0]).toMatchObject({ kind: "thinking", open: false, ms: 10 });
  });
});

describe("tools", () => {
  it("get their own result when results come swapped", () => {
    const view = play([call("x"), call("y"), result("y", "Y"), result("x", "X")]);
    expect(read(view)).toEqual(["tool x X", "tool y Y"]);
  });

  it("keep a finished result", () => {
    const view = play([call("x"), result("x", "X"), result("x", "[interrupted by user]")]);
    expect(read(view)).toEqual(["tool x X"]);
  });

  it("keep the last 200 lines of live output", () => {
    const lines = Array.from({ length: 250 }, (_, n) => `line ${n}\n`).join("");
    const view = play([call("x", "t1", "shell_exec"), { type: "agent:tool_output", sessionId: S, toolUseId: "x", text: lines, dropped: 7 }]);
    const tool = view.live[0] as Extract<Item, { kind: "tool" }>;
    expect([tool.tail.split("\n").length, tool.dropped, tool.tail.endsWith("line 249\n")]).toEqual([200, 7, true]);
  });
});

describe("a turn", () => {
  it("is settled by complete; a second complete changes nothing that is shown", () => {
    const once = play([stream("a"), used(), complete]);
    const twice = play([complete], once);
    expect(read(twice)).toEqual(read(once));
    expect([once.running, once.unseen, once.live.length]).toEqual([false, true, 0]);
  });

  it("goes on after an inner complete while something is queued", () => {
    const view = play([stream("a"), queue({ entryId: 5, text: "next" }), complete]);
    expect(view.running).toBe(true);
  });

  it("counts what it wrote and what it cost", () => {
    const paid = { ...(used("t1", 400) as object), costMicros: 20_000, currency: "USD" } as Frame;
    const view = play([stream("a"), paid, stream("b", "t2"), { ...(used("t2", 12) as object) } as Frame]);
    expect([view.runOutput, view.runCost, view.currency]).toEqual([412, 20_000, "USD"]);
  });

  it("that was retried shows only the second try", () => {
    const view = play([think("x"), stream("bad"), call("c"), { type: "stream_reset", sessionId: S, turnId: "t1" }, stream("good", "t2")]);
    expect(read(view)).toEqual(["text t2 good"]);
  });

  it("with an error is over at complete and says so", () => {
    const failed = { type: "error", sessionId: S, error: "Aster rejected the key (401).", code: "auth", seq: 4 } as Frame;
    const view = play([stream("a"), failed, complete]);
    expect([view.running, view.failed, read(view).at(-1)]).toEqual([false, true, "error Aster rejected the key (401)."]);
  });

  it("shows the same notice twice only when something stands in between", () => {
    const note: Frame = { type: "chat:system", sessionId: S, text: "n" };
    expect(read(play([note, note, stream("a"), note]))).toEqual(["system n", "text t1 a", "system n"]);
  });
});

describe("a stop", () => {
  const second: QueueItem = { entryId: 9, text: "second" };
  const stop: Frame = { type: "chat:stopped", sessionId: S };
  const said: Frame = { type: "chat:system", sessionId: S, text: "Stopped." };

  it("ends the run although something was queued, is told once, and the queue stands in the log", () => {
    const view = play([stream("a"), queue(second), stop, said, complete, queue()]);
    expect([view.running, read(view)]).toEqual([false, ["text t1 a", "stopped ", "user second"]]);
  });

  it("in another tab is told there too", () => {
    const view = play([stream("a"), queue(second), said, complete, queue()]);
    expect([view.running, read(view).includes("stopped ")]).toEqual([false, true]);
  });

  it("that was not told ends the wait for a next round", () => {
    const view = play([stream("a"), queue(second), complete]);
    expect(play([{ type: "local:idle" }], view).running).toBe(false);
    expect(play([{ type: "chat:followup", sessionId: S, agentName: "D" }, { type: "local:idle" }], view).running).toBe(true);
  });
});

describe("own messages", () => {
  it("stand in the log once acknowledged, and wait for the first word", () => {
    const view = play([mine("m1", "hi"), acked("m1", 3)]);
    expect([read(view), view.awaiting, view.pending.length]).toEqual([["user hi"], true, 0]);
    expect(play([stream("a")], view)).toMatchObject({ awaiting: false, running: true });
  });

  it("sent while the agent works stand in the queue and then where they were read", () => {
    const view = play([
      stream("a"), mine("m1", "also"), queue({ entryId: 9, text: "also" }), acked("m1", 9),
      stream("b"), queue(), { type: "chat:followup", sessionId: S, agentName: "Default" }, stream("c", "t2"),
    ]);
    expect(read(view)).toEqual(["text t1 ab", "user also", "text t2 c"]);
    expect([view.pending.length, view.readIds]).toEqual([0, [9]]);
  });

  it("are there once, whichever of ack, queue and chat:user comes first", () => {
    const user: Frame = { type: "chat:user", sessionId: S, text: "also", entryId: 9, clientMsgId: "m1" };
    const news: (Frame | Local)[] = [acked("m1", 9), queue({ entryId: 9, text: "also" }), user];
    const orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for (const order of orders) {
      const before = play([stream("a"), mine("m1", "also")]);
      const queued = play(order.map((place) => news[place]!), before);
      const after = play([queue(), { type: "chat:followup", sessionId: S, agentName: "D" }, stream("b", "t2"), complete], queued);
      expect([read(queued), queued.queue.length], order.join()).toEqual([["text t1 a"], 1]);
      expect(read(after), order.join()).toEqual(["text t1 a", "user also", "text t2 b"]);
      expect(after.pending).toEqual([]);
    }
  });

  it("that an idle agent has not yet taken stand in the log, with their pictures, once", () => {
    const item: UserItem = { kind: "user", key: "client:m1", at: 0, text: "hi", state: "sending", clientMsgId: "m1", images: [{ id: "i", url: "blob:x" }] };
    const waiting: QueueItem = { entryId: 4, text: "hi", origin: "person" };
    const snapshot: Frame = { type: "state:snapshot", snapshot: { sessionId: S, recentMessages: [], running: false, queue: [waiting] } };
    const before = play([{ type: "local:send", item }, snapshot, acked("m1", 4)]);
    expect([localRows(before).length, before.awaiting]).toEqual([1, true]);
    const after = play([queue(), { type: "chat:followup", sessionId: S, agentName: "D" }, stream("a")], before);
    expect(allItems(after)).toMatchObject([{ kind: "user", entryId: 4, images: [{ id: "i" }] }, { kind: "text" }]);
    expect(after.pending).toEqual([]);
  });

  it("keep their pictures when the first copy of the session, with the message still queued, is seen after the ack", () => {
    const item: UserItem = { kind: "user", key: "client:m1", at: 0, text: "hi", state: "sending", clientMsgId: "m1", images: [{ id: "i", url: "blob:x" }] };
    const waiting: QueueItem = { entryId: 4, text: "hi", origin: "person" };
    for (const running of [false, true]) {
      const first: Frame = { type: "state:snapshot", snapshot: { sessionId: S, recentMessages: [], running, queue: [waiting] } };
      const before = play([{ type: "local:send", item }, acked("m1", 4), first]);
      expect([read(before), before.pending.length]).toEqual([[], 1]);
      const after = play([queue(), { type: "chat:followup", sessionId: S, agentName: "D" }, stream("a"), complete], before);
      expect(allItems(after)).toMatchObject([{ kind: "user", entryId: 4, images: [{ id: "i" }] }, { kind: "text" }]);
      expect(after.pending).toEqual([]);
    }
  });

  it("stay when a copy of the session that is older than they are comes after the ack", () => {
    const row: LogMessage = { id: 3, entryId: 3, type: "user", content: "before" };
    const older: Frame = { type: "state:snapshot", snapshot: { sessionId: S, recentMessages: [row], running: false, queue: [] } };
    const before = play([mine("m1", "hi"), acked("m1", 4), older]);
    expect([localRows(before).map((one) => one.text), before.awaiting]).toEqual([["hi"], true]);
    const after = play([{ type: "chat:followup", sessionId: S, agentName: "D" }, stream("a"), complete], before);
    expect(read(after)).toEqual(["user before", "user hi", "text t1 a"]);
    // One that is newer and does not have it knows better: somebody deleted it.
    const newer: LogMessage = { id: 5, entryId: 5, type: "user", content: "later" };
    const gone = play([{ type: "state:snapshot", snapshot: { sessionId: S, recentMessages: [newer] } }], play([mine("m1", "hi"), acked("m1", 4)]));
    expect([read(gone), gone.pending]).toEqual([["user later"], []]);
  });

  it("are called read only when they had to wait", () => {
    const item: UserItem = { kind: "user", key: "client:m1", at: 0, text: "hi", state: "sending", clientMsgId: "m1" };
    const waiting: QueueItem = { entryId: 4, text: "hi", origin: "person" };
    const first: Frame = { type: "state:snapshot", snapshot: { sessionId: S, recentMessages: [], running: false, queue: [waiting] } };
    const followup: Frame = { type: "chat:followup", sessionId: S, agentName: "D" };
    const sent = play([{ type: "local:send", item }, first, acked("m1", 4)]);
    expect(play([queue(), followup, stream("a")], sent).readIds).toEqual([]);
    expect(play([followup, queue(), stream("a")], sent).readIds).toEqual([]);
    expect(play([stream("a"), queue(waiting), queue()]).readIds).toEqual([4]);
  });

  it("that were removed from the queue do not come into the log", () => {
    const view = play([stream("a"), queue({ entryId: 9, text: "no" }), { type: "local:removing", entryId: 9 }, queue()]);
    expect(read(view)).toEqual(["text t1 a"]);
  });

  it("that failed can be sent again and are then one message", () => {
    const view = play([mine("m1", "hi"), { type: "local:failed", clientMsgId: "m1" }]);
    expect(view.pending[0]).toMatchObject({ state: "failed" });
    const again = play([{ type: "local:resend", clientMsgId: "m1" }, acked("m1", 4)], view);
    expect(read(again)).toEqual(["user hi"]);
  });

  it("keep the pictures only this page has when the snapshot comes before the ack", () => {
    const item: UserItem = { kind: "user", key: "client:m1", at: 0, text: "hi", state: "sending", clientMsgId: "m1", images: [{ id: "i", url: "blob:x" }] };
    const row: LogMessage = { id: 4, entryId: 4, type: "user", content: "hi", clientMsgId: "m1" };
    const snapshot: Frame = { type: "state:snapshot", snapshot: { sessionId: S, recentMessages: [row] } };
    for (const order of [[snapshot, acked("m1", 4)], [acked("m1", 4), snapshot], [snapshot, acked("m1", 4), snapshot]]) {
      const view = play([{ type: "local:send", item }, ...order]);
      expect(allItems(view)).toMatchObject([{ entryId: 4, images: [{ id: "i" }] }]);
    }
  });

  it("whose ack was lost are recognised in the next snapshot", () => {
    const row: LogMessage = { id: 4, entryId: 4, type: "user", content: "hi", clientMsgId: "m1" };
    const view = play([mine("m1", "hi"), { type: "state:snapshot", snapshot: { sessionId: S, recentMessages: [row] } }]);
    expect([read(view), view.pending]).toEqual([["user hi"], []]);
  });
});

describe("windows", () => {
  const rows = (from: number, to: number): LogMessage[] =>
    Array.from({ length: to - from + 1 }, (_, n) => ({ id: from + n, entryId: from + n, type: "user", content: `m${from + n}` }));
  const snapshot = (from: number, to: number): Frame => ({
    type: "state:snapshot", snapshot: { sessionId: S, recentMessages: rows(from, to), hasMore: true, before: from },
  });

  it("stay when the fresh one joins on, and go when there is a hole", () => {
    const items = rows(1, 10).map((row): Item => ({ kind: "user", key: `user:${row.entryId}`, at: 0, entryId: row.entryId, text: row.content!, state: "sent" }));
    const older: Local = { type: "local:older", items, hasMore: false, before: null };
    const both = play([snapshot(11, 20), older]);
    expect(both.past).toHaveLength(20);
    expect(play([snapshot(15, 25)], both)).toMatchObject({ hasMore: false, past: { length: 25 } });
    expect(play([snapshot(40, 50)], both)).toMatchObject({ hasMore: true, before: 40, past: { length: 11 } });
  });

  it("are forgotten at an exchange and can be asked for again", () => {
    const view = play([snapshot(1, 100), { type: "local:trim", keep: 30 }]);
    expect(view).toMatchObject({ hasMore: true, before: 71 });
    expect(view.past).toHaveLength(30);
  });

  it("mark a deleted exchange and its answer, and give it back", () => {
    const start = play([mine("m1", "one"), acked("m1", 1), stream("a"), complete, mine("m2", "two"), acked("m2", 2), stream("b", "t2"), complete]);
    const gone = play([{ type: "local:delete", entryId: 1, deleted: true }], start);
    expect(allItems(gone).map((item) => Boolean(item.deleted))).toEqual([true, true, false, false]);
    const back = play([{ type: "local:delete", entryId: 1, deleted: false }], gone);
    expect(allItems(back).some((item) => item.deleted)).toBe(false);
  });
});

/** A small server: keeps rows and the open turn as frames, so that it can answer a subscribe at any moment. */
class Server {
  rows: LogMessage[] = [];
  open: { turnId: string; blocks: WireBlock[]; usage: Frame | null; entryId: number }[] | null = null;
  entry = 0;
  turns = 0;
  seq = 0;

  snapshot(): Frame[] {
    const frames: Frame[] = [
      { type: "state:snapshot", snapshot: { sessionId: S, recentMessages: [...this.rows], running: this.open !== null, seq: this.seq } },
    ];
    if (this.open === null) return frames;
    frames.push({ type: "chat:followup", sessionId: S, agentName: "Default", replay: true });
    for (const turn of this.open) {
      for (const block of turn.blocks) {
        if (block.type === "text") frames.push({ ...(stream(block.text, turn.turnId) as object), replay: true } as Frame);
        else if (block.type === "thinking") frames.push({ ...(think(block.text, turn.turnId) as object), replay: true } as Frame);
        else {
          frames.push({ ...(call(block.toolCall.toolUseId!, turn.turnId) as object), replay: true } as Frame);
          if (block.toolCall.output !== undefined) frames.push(result(block.toolCall.toolUseId!, block.toolCall.output));
        }
      }
      if (turn.usage) frames.push(turn.usage);
    }
    return frames;
  }

  close(): void {
    for (const turn of this.open ?? []) {
      if (turn.blocks.length === 0) continue;
      const usage = turn.usage && "usage" in turn.usage ? (turn.usage.usage as LogMessage["usage"]) : undefined;
      this.rows.push({ id: turn.entryId, entryId: turn.entryId, type: "assistant", turnId: turn.turnId, contentBlocks: turn.blocks, usage, modelId: "m" });
    }
    this.open = null;
  }
}

function randomOf(seed: number): () => number {
  return () => {
    seed = (seed * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return seed / 4_294_967_296;
  };
}

describe("test_X4: a tab that left and came back", () => {
  it("shows what a tab that stayed shows, at any moment of any run", () => {
    for (let seed = 1; seed <= 120; seed += 1) {
      const random = randomOf(seed);
      const server = new Server();
      let stayed = play(server.snapshot());
      let left = play(server.snapshot());
      let away = false;
      const emit = (frame: Frame): void => {
        server.seq += 1;
        stayed = play([frame], stayed);
        if (!away) left = play([frame], left);
      };
      for (let turn = 0; turn < 60; turn += 1) {
        if (server.open === null) {
          server.entry += 1;
          server.rows.push({ id: server.entry, entryId: server.entry, type: "user", content: `q${server.entry}` });
          server.open = [];
          emit({ type: "chat:user", sessionId: S, text: `q${server.entry}`, entryId: server.entry });
        }
        let current = server.open.at(-1);
        const choice = Math.floor(random() * 9);
        if (!current || current.usage) {
          server.turns += 1;
          server.entry += 1;
          current = { turnId: `t${server.turns}`, blocks: [], usage: null, entryId: server.entry };
          server.open.push(current);
        }
        const last = current.blocks.at(-1);
        if (choice < 3) {
          const text = `w${turn} `;
          if (last?.type === "text") last.text += text;
          else current.blocks.push({ type: "text", text, turnId: current.turnId });
          emit(stream(text, current.turnId));
        } else if (choice === 3) {
          if (last?.type === "thinking") last.text += "h";
          else current.blocks.push({ type: "thinking", text: "h", turnId: current.turnId });
          emit(think("h", current.turnId));
        } else if (choice === 4) {
          const id = `u${turn}`;
          current.blocks.push({ type: "tool_call", turnId: current.turnId, toolCall: { name: "file_read", input: { path: id }, toolUseId: id } });
          emit(call(id, current.turnId));
        } else if (choice === 5) {
          const waiting = current.blocks.find((block) => block.type === "tool_call" && block.toolCall.output === undefined);
          if (waiting?.type === "tool_call") {
            waiting.toolCall.output = `r${turn}`;
            emit(result(waiting.toolCall.toolUseId!, `r${turn}`));
          }
        } else if (choice === 6 && current.blocks.length > 0) {
          current.usage = used(current.turnId, turn);
          emit(current.usage);
        } else if (choice === 7 && current.blocks.length > 0) {
          for (const block of current.blocks) {
            if (block.type === "tool_call" && block.toolCall.output === undefined) {
              block.toolCall.output = "[interrupted by user]";
              emit(result(block.toolCall.toolUseId!, "[interrupted by user]"));
            }
          }
          server.close();
          emit(complete);
        } else if (choice === 8) {
          if (away) left = play(server.snapshot(), left);
          away = !away;
        }
      }
      left = play(server.snapshot(), left);
      const reloaded = play(server.snapshot());
      expect(read(left), `seed ${seed}`).toEqual(read(stayed));
      expect(read(reloaded), `seed ${seed}, reloaded`).toEqual(read(stayed));
      expect(left.running).toBe(stayed.running || stayed.awaiting);
      expect(allItems(reloaded).filter((item) => item.kind !== "user").map((item) => item.key), `seed ${seed}, keys`).toEqual(
        allItems(stayed).filter((item) => item.kind !== "user").map((item) => item.key),
      );
    }
  }, 60_000);
});
