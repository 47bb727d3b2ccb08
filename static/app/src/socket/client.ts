/**
 * The shell around the link: one WebSocket, one timer, the browser's events. It runs effects and decides nothing.
 */
import { parseFrame, type ChatOut, type Frame, type OutFrame } from "./frames";
import { newLink, statusOf, step, wakeAt, type Effect, type Input, type Link, type LinkStatus } from "./link";

export interface SocketLike {
  send(data: string): void;
  close(): void;
  onopen: ((event: unknown) => void) | null;
  onclose: ((event: { code?: number }) => void) | null;
  onerror: ((event: unknown) => void) | null;
  onmessage: ((event: { data: unknown }) => void) | null;
}

export interface World {
  open(): SocketLike;
  now(): number;
  /** True = signed in, false = 401; rejects when the server cannot be asked. */
  checkAuth(): Promise<boolean>;
  later(callback: () => void, ms: number): unknown;
  cancel(timer: unknown): void;
}

type Unlisten = () => void;

export interface Client {
  start(project: string): void;
  stop(): void;
  send(frame: OutFrame): void;
  chat(frame: ChatOut): void;
  forgetChat(clientMsgId: string): void;
  subscribe(sessionId: string): void;
  unsubscribe(sessionId: string): void;
  retryNow(): void;
  signedIn(): void;
  signal(kind: "online" | "offline" | "hidden" | "visible"): void;
  status(): LinkStatus;
  onFrame(listener: (frame: Frame) => void): Unlisten;
  onDelivery(listener: (news: Extract<Effect, { kind: "acked" | "failed" }>) => void): Unlisten;
  onConnected(listener: (again: boolean) => void): Unlisten;
  onSignedOut(listener: () => void): Unlisten;
  onStatus(listener: (status: LinkStatus) => void): Unlisten;
}

class Listeners<T> {
  private readonly all = new Set<(value: T) => void>();
  add(listener: (value: T) => void): Unlisten {
    this.all.add(listener);
    return () => this.all.delete(listener);
  }
  call(value: T): void {
    for (const listener of [...this.all]) listener(value);
  }
}

export function createClient(world: World): Client {
  let link: Link = newLink(world.now(), Math.random());
  let socket: { number: number; raw: SocketLike } | null = null;
  let timer: unknown = null;
  const frames = new Listeners<Frame>();
  const deliveries = new Listeners<Extract<Effect, { kind: "acked" | "failed" }>>();
  const connections = new Listeners<boolean>();
  const signedOut = new Listeners<void>();
  const statuses = new Listeners<LinkStatus>();

  function input(what: Input): void {
    const before = link;
    const [next, effects] = step(link, what);
    link = next;
    for (const effect of effects) run(effect);
    schedule();
    if (link.phase !== before.phase || link.retryAt !== before.retryAt || link.online !== before.online) {
      statuses.call(statusOf(link));
    }
  }

  function schedule(): void {
    if (timer !== null) world.cancel(timer);
    const at = wakeAt(link);
    timer = at === null ? null : world.later(() => input({ kind: "tick", now: world.now() }), Math.max(0, at - world.now()));
  }

  function open(number: number): void {
    let raw: SocketLike;
    try {
      raw = world.open();
    } catch {
      // A URL the browser refuses: the same as a socket that closes at once.
      world.later(() => input({ kind: "closed", socket: number, now: world.now() }), 0);
      return;
    }
    socket = { number, raw };
    raw.onopen = () => input({ kind: "opened", socket: number, now: world.now() });
    raw.onclose = (event) => input({ kind: "closed", socket: number, code: event.code, now: world.now() });
    raw.onerror = () => undefined; // a close always follows
    raw.onmessage = (event) => {
      const frame = parseFrame(event.data);
      if (frame === null) console.warn("socket: not a frame, ignored");
      else input({ kind: "frame", socket: number, frame, now: world.now() });
    };
  }

  function run(effect: Effect): void {
    switch (effect.kind) {
      case "connect":
        return open(effect.socket);
      case "close":
        if (socket?.number === effect.socket) {
          socket.raw.close();
          socket = null;
        }
        return;
      case "transmit":
        if (socket?.number !== effect.socket) return;
        try {
          socket.raw.send(JSON.stringify(effect.frame));
        } catch {
          const number = effect.socket;
          world.later(() => input({ kind: "closed", socket: number, now: world.now() }), 0);
        }
        return;
      case "check-auth":
        world.checkAuth().then(
          (signedIn) => input({ kind: "auth", signedIn, now: world.now() }),
          () => undefined, // the server cannot be asked: the back-off goes on
        );
        return;
      case "deliver":
        return frames.call(effect.frame);
      case "acked":
      case "failed":
        return deliveries.call(effect);
      case "connected":
        return connections.call(effect.again);
      case "signed-out":
        return signedOut.call();
    }
  }

  return {
    start: (project) => input({ kind: "start", project, now: world.now() }),
    stop: () => input({ kind: "stop" }),
    send: (frame) => input({ kind: "send", frame, now: world.now() }),
    chat: (frame) => input({ kind: "chat", frame, now: world.now() }),
    forgetChat: (clientMsgId) => input({ kind: "forget-chat", clientMsgId }),
    subscribe: (sessionId) => input({ kind: "subscribe", sessionId, now: world.now() }),
    unsubscribe: (sessionId) => input({ kind: "unsubscribe", sessionId, now: world.now() }),
    retryNow: () => input({ kind: "retry", now: world.now() }),
    signedIn: () => input({ kind: "signed-in", now: world.now() }),
    signal: (kind) => input({ kind, now: world.now() }),
    status: () => statusOf(link),
    onFrame: (listener) => frames.add(listener),
    onDelivery: (listener) => deliveries.add(listener),
    onConnected: (listener) => connections.add(listener),
    onSignedOut: (listener) => signedOut.add(listener),
    onStatus: (listener) => statuses.add(listener),
  };
}
