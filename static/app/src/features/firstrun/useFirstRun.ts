/** Where a newcomer stands, and whether the agent of new sessions is the demo. */
import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { create } from "zustand";
import { listProviders } from "@/api/settings";
import type { Workspace } from "@/api/workspaces";
import { useSessions } from "@/features/sessions";
import { storage } from "@/shared/storage";
import { socket } from "@/socket";
import { doneSteps, type Step } from "./steps";

const WRITERS: readonly string[] = ["file_write", "file_edit"];
const flag = (name: string): boolean => storage.get(`halo_first_${name}`) === "1";

interface Flags {
  file: boolean;
  keyboard: boolean;
  hidden: boolean;
}

const useFlags = create<Flags>()(() => ({ file: flag("file"), keyboard: flag("keyboard"), hidden: flag("hidden") }));

export function setFlag(name: keyof Flags): void {
  if (useFlags.getState()[name]) return;
  storage.set(`halo_first_${name}`, "1");
  useFlags.setState({ [name]: true });
}

export interface FirstRun {
  /** The model of new sessions is the demo provider. False until known: no banner that blinks. */
  demo: boolean;
  done: readonly Step[];
  visible: boolean;
}

export const providersKey = (project: string) => ["providers", project] as const;

export function useFirstRun(workspace: Workspace): FirstRun {
  const { rows, isSuccess } = useSessions(workspace.path);
  const providers = useQuery({ queryKey: providersKey(workspace.path), queryFn: () => listProviders(workspace.path) });
  const flags = useFlags();

  useEffect(() => socket.onFrame((frame) => {
    if (frame.type === "agent:tool_call" && WRITERS.includes(frame.tool)) setFlag("file");
  }), []);

  const model = providers.data?.current ? !providers.data.current.demo : null;
  const done = doneSteps({ asked: rows.some((row) => row.exchangeCount > 0), model: model === true, file: flags.file, keyboard: flags.keyboard });
  return { demo: model === false, done, visible: !flags.hidden && done.length < 5 && isSuccess };
}
