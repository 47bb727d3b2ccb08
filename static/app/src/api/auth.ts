import { ApiError, request } from "./client";
import type { components } from "./schema.gen";

type Schemas = components["schemas"];
export type User = Schemas["Me"];
export type AuthCheck = Schemas["CheckOut"];
type Prefs = Schemas["PrefsIn"];

/** Who is signed in. A 401 is an answer here: `authenticated: false`. Throws when the server cannot be asked. */
export async function checkAuth(): Promise<AuthCheck> {
  try {
    return await request<AuthCheck>("GET", "/auth/check", { quiet401: true });
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 401) {
      return { authenticated: false, badge: typeof cause.body.badge === "string" ? cause.body.badge : null };
    }
    throw cause;
  }
}

export const login = (username: string, password: string) =>
  request<Schemas["Ok"]>("POST", "/auth/login", { body: { username, password }, quiet401: true });

export const logout = () => request<Schemas["Ok"]>("POST", "/auth/logout", { quiet401: true });

/** Every login of this person ends, this one too. */
export const logoutEverywhere = () => request<Schemas["Ok"]>("POST", "/auth/logout-everywhere", { quiet401: true });

export const changePassword = (oldPassword: string, newPassword: string) =>
  request<Schemas["Ok"]>("POST", "/auth/change-password", { body: { oldPassword, newPassword }, quiet401: true });

export const savePrefs = (prefs: { theme?: string; language?: string }) =>
  request<Schemas["Prefs"]>("PATCH", "/auth/prefs", { body: prefs as Prefs });

export const health = () => request<{ status: string; version: string }>("GET", "/health");
