/** The theme of this person: cached here for the first paint, kept on the server (UserPrefs) once signed in. */
import { create } from "zustand";
import { storage } from "@/shared/storage";

export const THEMES = ["dark", "light", "midnight", "warm"] as const;
export type Theme = (typeof THEMES)[number];
export type ThemeWish = Theme | "system";

const isWish = (value: unknown): value is ThemeWish =>
  value === "system" || (THEMES as readonly unknown[]).includes(value);

const prefersDark = () => matchMedia("(prefers-color-scheme: dark)");

export const resolveTheme = (wish: ThemeWish, dark: boolean): Theme =>
  wish === "system" ? (dark ? "dark" : "light") : wish;

export const isLight = (theme: Theme): boolean => theme === "light" || theme === "warm";

interface ThemeState {
  wish: ThemeWish;
  theme: Theme;
}

const initial = (): ThemeState => {
  const cached = storage.get("halo_theme");
  const wish = isWish(cached) ? cached : "dark";
  return { wish, theme: resolveTheme(wish, prefersDark().matches) };
};

export const useTheme = create<ThemeState>()(initial);

function paint({ wish, theme }: ThemeState): void {
  const root = document.documentElement;
  root.dataset.theme = theme;
  root.setAttribute("data-mantine-color-scheme", isLight(theme) ? "light" : "dark");
  storage.set("halo_theme", wish);
}

/** Change the theme at once. Saving it for the person is the caller's business (settings page, login page). */
export function setTheme(wish: string): void {
  if (!isWish(wish)) return;
  const next = { wish, theme: resolveTheme(wish, prefersDark().matches) };
  useTheme.setState(next);
  paint(next);
}

/** Follow the system while the wish is "system". Called once at boot. */
export function watchSystemTheme(): void {
  prefersDark().addEventListener("change", () => {
    if (useTheme.getState().wish === "system") setTheme("system");
  });
}
