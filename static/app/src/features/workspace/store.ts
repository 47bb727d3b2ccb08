/** The open workspace of this page, and how it came to be open. Frames and routes name it by `workspace.path`. */
import { create } from "zustand";
import { ApiError, errorText } from "@/api/client";
import { openWorkspace, type Workspace } from "@/api/workspaces";
import { storage } from "@/shared/storage";
import { addRecent, readRecent, writeRecent } from "./recent";

export type Phase =
  | { kind: "starting" }
  | { kind: "choose" } // nothing wished, nothing remembered: the folder picker
  | { kind: "opening"; path: string }
  | { kind: "failed"; path: string; error: string; offline: boolean }
  | { kind: "open"; workspace: Workspace };

interface State {
  phase: Phase;
  /** The picker as a dialog over an open workspace. */
  picking: boolean;
}

export const useWorkspace = create<State>()(() => ({ phase: { kind: "starting" }, picking: false }));

export const folderOfUrl = (search: string): string | null => new URLSearchParams(search).get("folder");

/** The last part of a path, for titles and rows; the root names itself. */
export const folderName = (path: string): string => path.split("/").filter(Boolean).at(-1) ?? path;

/** The address of a workspace: a plain path reads better with its slashes left alone. */
export const addressOf = (path: string): string => `?folder=${encodeURIComponent(path).replaceAll("%2F", "/")}`;

/** What to open at boot: the address wins, then the last folder, then the picker. */
export function firstWish(search: string, last: string | null): { path: string; wished: boolean } | null {
  const wished = folderOfUrl(search);
  if (wished) return { path: wished, wished: true };
  return last ? { path: last, wished: false } : null;
}

export async function bootWorkspace(): Promise<void> {
  const wish = firstWish(window.location.search, storage.get("halo_last_folder"));
  if (!wish) {
    useWorkspace.setState({ phase: { kind: "choose" } });
    return;
  }
  const opened = await open(wish.path);
  // A remembered folder that is gone is no error: choose another. A wished one is told.
  const { phase } = useWorkspace.getState();
  if (!opened && !wish.wished && phase.kind === "failed" && !phase.offline) useWorkspace.setState({ phase: { kind: "choose" } });
}

/** Open a folder in place of the present one. False = it failed; the phase says why (the old workspace is gone by then). */
export async function open(path: string): Promise<boolean> {
  useWorkspace.setState({ phase: { kind: "opening", path } });
  try {
    enter(await openWorkspace(path));
    return true;
  } catch (cause) {
    const offline = cause instanceof ApiError && cause.offline;
    useWorkspace.setState({ phase: { kind: "failed", path, error: errorText(cause), offline } });
    return false;
  }
}

/** Show a workspace the server has opened: canonical path into the address (no history entry) and the recent list. */
export function enter(workspace: Workspace): void {
  storage.set("halo_last_folder", workspace.path);
  writeRecent(addRecent(readRecent(), workspace.path));
  window.history.replaceState(null, "", addressOf(workspace.path) + window.location.hash);
  useWorkspace.setState({ phase: { kind: "open", workspace }, picking: false });
}

export const openPicker = (): void => useWorkspace.setState({ picking: true });
export const closePicker = (): void => useWorkspace.setState({ picking: false });
export const chooseFolder = (): void => useWorkspace.setState({ phase: { kind: "choose" } });
