/** The last eight folders of this browser, newest first. */
import { storage } from "@/shared/storage";

const KEY = "halo_recent_workspaces";
export const MOST_RECENT = 8;

const isPaths = (value: unknown): value is string[] => Array.isArray(value) && value.every((item) => typeof item === "string");

export const readRecent = (): string[] => storage.getJson(KEY, [], isPaths).slice(0, MOST_RECENT);
export const writeRecent = (paths: readonly string[]): void => storage.setJson(KEY, paths);

export const addRecent = (paths: readonly string[], path: string): string[] =>
  [path, ...paths.filter((other) => other !== path)].slice(0, MOST_RECENT);

export const dropRecent = (paths: readonly string[], path: string): string[] => paths.filter((other) => other !== path);
