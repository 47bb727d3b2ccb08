import { describe, expect, it } from "vitest";

import { createClient, type SocketLike, type World } from "./client";

class FakeSocket implements SocketLike {
  out: string[] = [];
  closed = false;
  onopen: SocketLike["onopen"] = null;
  onclose: SocketLike["onclose"] = null;
  onerror: SocketLike["onerror"] = null;
  onmessage: SocketLike["onmessage"] = null;
  send(data: string): void {
    this.out.push(data);
  }
  close(): void {
    this.closed = true;
  }
}

function world(signedIn: () => Promise<boolean> = async () => true) {
  const sockets: FakeSocket[] = [];
  const timers: { at: number; callback: () => void }[] = [];
  let time = 0;
  const made: World = {
    open: () => {
      const socket = new FakeSocket();
      sockets.push(socket);
      return socket;
    },
    now: () => time,
    checkAuth: signedIn,
    later: (callback, ms) => {
      const timer = { at: time + ms, callback };
      timers.push(timer);
      return timer;
    },
    cancel: (timer) => {
      const place = timers.indexOf(timer as (typeof timers)[number]);
      if (place >= 0) timers.splice(place, 1);
    },
  };
  const pass = (ms: number): void => {
    const end = time + ms;
    for (;;) {
      const due = timers.filter((timer) => timer.at <= end).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      time = Math.max(time, due.at);
      timers.splice(timers.indexOf(due), 1);
      due.callback();
    }
    time = end;
  };
  return { made, sockets, pass };
}

describe("the socket client", () => {
  it("test_X5: a chat whose ack was lost with the server is sent again with the same id and acked once", () => {
    const { made, sockets, pass } = world();
    const client = createClient(made);
    const acks: string[] = [];
    client.onDelivery((news) => acks.push(`${news.kind} ${news.clientMsgId}`));
    client.start("/w");
    sockets[0]!.onopen!({});
    client.chat({ type: "chat", sessionId: "s", projectId: "/w", message: "hi", clientMsgId: "m1" });
    sockets[0]!.onclose!({ code: 1006 });
    pass(1300);
    sockets[1]!.onopen!({});
    const again = sockets[1]!.out.map((data) => JSON.parse(data) as { type: string; clientMsgId?: string });
    expect(again[0]).toMatchObject({ type: "chat", clientMsgId: "m1" });
    sockets[1]!.onmessage!({ data: JSON.stringify({ type: "chat:ack", clientMsgId: "m1", entryId: 3 }) });
    expect(acks).toEqual(["acked m1"]);
  });

  it("ignores what is not a frame and stays open", () => {
    const { made, sockets } = world();
    const client = createClient(made);
    client.start("/w");
    sockets[0]!.onopen!({});
    for (const data of ["{", "3", "null", '{"type":5}']) sockets[0]!.onmessage!({ data });
    expect(client.status().phase).toBe("open");
  });

  it("says once that the login is gone", async () => {
    const { made, sockets, pass } = world(async () => false);
    const client = createClient(made);
    let said = 0;
    client.onSignedOut(() => (said += 1));
    client.start("/w");
    sockets[0]!.onclose!({ code: 1006 });
    await Promise.resolve();
    await Promise.resolve();
    pass(60_000);
    expect([said, sockets.length, client.status().phase]).toEqual([1, 1, "signed-out"]);
  });
});
