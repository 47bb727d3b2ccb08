/**
 * The four named layouts as data. Panels never move on a change of layout, they are shown, hidden and sized:
 * so chat and terminal are never mounted twice.
 */
export const LAYOUTS = ["chat", "code", "review", "terminal"] as const;
export type LayoutName = (typeof LAYOUTS)[number];

export interface Layout {
  editor: boolean;
  terminal: boolean;
  /** Part of the width that the chat takes while something stands beside it. */
  chatShare: number;
  /** Part of the height of the left side that the terminal takes; 1 = all of it. */
  terminalShare: number;
}

const TABLE: Record<LayoutName, Layout> = {
  chat: { editor: false, terminal: false, chatShare: 1, terminalShare: 0 },
  code: { editor: true, terminal: true, chatShare: 0.52, terminalShare: 0.26 },
  review: { editor: true, terminal: false, chatShare: 0.34, terminalShare: 0 },
  terminal: { editor: false, terminal: true, chatShare: 0.44, terminalShare: 1 },
};

export const CHAT_MIN = 380;
export const EDITOR_MIN = 320;

export const isLayout = (value: unknown): value is LayoutName => (LAYOUTS as readonly unknown[]).includes(value);

/** The layout for the room there is: too narrow for the editor and a terminal beside the chat, the terminal goes first. */
export function fit(name: LayoutName, width: number): Layout {
  const layout = TABLE[name];
  if (width >= CHAT_MIN + EDITOR_MIN) return layout;
  return TABLE.chat;
}

/** Pixels for the chat in a dock of this width. */
export function chatWidth(layout: Layout, width: number): number {
  if (layout.chatShare >= 1) return width;
  return Math.max(CHAT_MIN, Math.min(Math.round(width * layout.chatShare), width - EDITOR_MIN));
}
