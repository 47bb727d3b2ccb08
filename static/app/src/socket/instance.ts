/** The socket of this browser tab, wired to the real WebSocket, clock and page events. */
import { createClient, type SocketLike } from "./client";

function socketUrl(): string {
  const scheme = window.location.protocol === "https:" ? "wss:" : "ws:";
  return `${scheme}//${window.location.host}/ws`;
}

export const socket = createClient({
  open: () => new WebSocket(socketUrl()) as unknown as SocketLike,
  now: () => Date.now(),
  checkAuth: async () => (await fetch("/api/auth/check", { credentials: "same-origin" })).status !== 401,
  later: (callback, ms) => window.setTimeout(callback, ms),
  cancel: (timer) => window.clearTimeout(timer as number),
});

if (typeof window !== "undefined") {
  window.addEventListener("online", () => socket.signal("online"));
  window.addEventListener("offline", () => socket.signal("offline"));
  document.addEventListener("visibilitychange", () =>
    socket.signal(document.visibilityState === "hidden" ? "hidden" : "visible"),
  );
}

