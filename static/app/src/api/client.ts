/** The one way to the JSON API: same origin, one error shape, one place that notices a lost login. */

/** An answer that is not 2xx (`status`), or none at all (`status` 0). `message` is the server's own text. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Seconds until a retry makes sense, from Retry-After. */
    readonly retryAfter: number | null = null,
    readonly body: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }

  get offline(): boolean {
    return this.status === 0;
  }
}

type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
type Query = Record<string, string | number | boolean | null | undefined>;

let onSignedOut: () => void = () => undefined;

/** Called once at boot: what to do when the server says 401 to a signed-in page. */
export function whenSignedOut(handler: () => void): void {
  onSignedOut = handler;
}

export function url(path: string, query: Query = {}): string {
  const parts = Object.entries(query)
    .filter(([, value]) => value !== null && value !== undefined && value !== false)
    .map(([key, value]) => `${key}=${encodeURIComponent(value === true ? "1" : String(value))}`);
  return `/api${path}${parts.length ? `?${parts.join("&")}` : ""}`;
}

interface Options {
  query?: Query;
  body?: unknown;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  /** Login routes: their 401 is an answer, not a lost login. */
  quiet401?: boolean;
}

/** Ask the server. Throws ApiError; `T` is what the route promises. */
export const request = async <T>(method: Method, path: string, options: Options = {}): Promise<T> =>
  (await readJson(await answerOf(method, path, options))) as T;

/** The same for a route that answers plain text. */
export const requestText = async (path: string, query: Query, headers: Record<string, string> = {}): Promise<string> =>
  (await answerOf("GET", path, { query, headers })).text();

async function answerOf(method: Method, path: string, options: Options): Promise<Response> {
  const init: RequestInit = { method, credentials: "same-origin", headers: { Accept: "application/json", ...options.headers } };
  if (options.signal) init.signal = options.signal;
  if (options.body !== undefined) {
    init.headers = { ...init.headers, "Content-Type": "application/json" };
    init.body = JSON.stringify(options.body);
  }
  let response: Response;
  try {
    response = await fetch(url(path, options.query), init);
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === "AbortError") throw cause;
    throw new ApiError(0, cause instanceof Error ? cause.message : String(cause));
  }
  if (response.ok) return response;
  const body = await readJson(response);
  if (response.status === 401 && !options.quiet401) onSignedOut();
  const text = typeof body.error === "string" ? body.error : `${response.status} ${response.statusText}`.trim();
  const after = Number(response.headers.get("Retry-After"));
  throw new ApiError(response.status, text, Number.isFinite(after) && after > 0 ? after : null, body);
}

async function readJson(response: Response): Promise<Record<string, unknown>> {
  try {
    const value: unknown = await response.json();
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {}; // no body, or a proxy's page: the status speaks
  }
}

export const errorText = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause));
