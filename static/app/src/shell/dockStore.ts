/** Verbs on the dock for menus and keys: every drag has a menu twin. */
import type { DockviewApi } from "dockview-react";
import { create } from "zustand";

interface DockState {
  api: DockviewApi | null;
  chat: "docked" | "floating" | "maximized";
  /** Something is to stand beside the chat: the dock's code is loaded only then, and stays. */
  wanted: boolean;
}

export const useDock = create<DockState>()(() => ({ api: null, chat: "docked", wanted: false }));

let pending: (() => void) | null = null;

/** Run a verb now, or as soon as the dock is there. */
function withDock(verb: () => void): void {
  if (useDock.getState().api) return verb();
  pending = verb;
  useDock.setState({ wanted: true });
}

export function runPending(): void {
  const verb = pending;
  pending = null;
  verb?.();
}

export const wantDock = (): void => useDock.setState({ wanted: true });

const FLOAT = { width: 480, height: 640, margin: 24 };

/** The chat as a window over the dock, lower right, kept inside the page by the dock itself. */
export const floatChat = (): void => withDock(float);
export const maximizeChat = (): void => withDock(maximize);

function float(): void {
  const { api } = useDock.getState();
  const chat = api?.getPanel("chat");
  const editor = api?.getPanel("editor");
  if (!api || !chat || !editor || chat.group.api.location.type === "floating") return;
  if (api.hasMaximizedGroup()) api.exitMaximizedGroup();
  editor.group.api.setVisible(true); // something has to fill the room it leaves
  chat.group.header.hidden = false; // a window is moved by its strip
  api.addFloatingGroup(chat.group, {
    width: Math.min(FLOAT.width, api.width - 2 * FLOAT.margin),
    height: Math.min(FLOAT.height, api.height - 2 * FLOAT.margin),
    position: { right: FLOAT.margin, bottom: FLOAT.margin },
  });
  useDock.setState({ chat: "floating" });
}

export function dockChat(): void {
  const { api } = useDock.getState();
  const chat = api?.getPanel("chat");
  if (!api || !chat) return;
  if (api.hasMaximizedGroup()) api.exitMaximizedGroup();
  if (chat.group.api.location.type === "floating") {
    chat.api.moveTo({ group: api.addGroup({ direction: "right" }), position: "center" });
    chat.group.header.hidden = true;
  }
  useDock.setState({ chat: "docked" });
}

function maximize(): void {
  const { api } = useDock.getState();
  const chat = api?.getPanel("chat");
  if (!api || !chat) return;
  if (chat.group.api.location.type === "floating") dockChat();
  api.getPanel("chat")?.api.maximize();
  useDock.setState({ chat: "maximized" });
}
