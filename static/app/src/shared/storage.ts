/** Browser storage that may be switched off or hold nonsense: falls back to memory of this page. */

const memory = new Map<string, string>();

function area(kind: "local" | "session"): Storage | null {
  try {
    return kind === "local" ? window.localStorage : window.sessionStorage;
  } catch {
    return null;
  }
}

function wrap(kind: "local" | "session") {
  return {
    get(key: string): string | null {
      try {
        return area(kind)?.getItem(key) ?? memory.get(key) ?? null;
      } catch {
        return memory.get(key) ?? null;
      }
    },
    set(key: string, value: string): void {
      memory.set(key, value);
      try {
        area(kind)?.setItem(key, value);
      } catch {
        // full or forbidden: memory of this page has it
      }
    },
    remove(key: string): void {
      memory.delete(key);
      try {
        area(kind)?.removeItem(key);
      } catch {
        // nothing to remove then
      }
    },
    /** A JSON value, or `fallback` when it is missing or not of the expected shape. */
    getJson<T>(key: string, fallback: T, valid: (value: unknown) => value is T): T {
      const text = this.get(key);
      if (text === null) return fallback;
      try {
        const value: unknown = JSON.parse(text);
        return valid(value) ? value : fallback;
      } catch {
        return fallback;
      }
    },
    setJson(key: string, value: unknown): void {
      this.set(key, JSON.stringify(value));
    },
  };
}

export const storage = wrap("local");
export const tabStorage = wrap("session");

/** What the chat showed last (features/chat/lastWindow.ts); the login page clears it: the next person may be another. */
export const LAST_WINDOW = "halo_last_window";
