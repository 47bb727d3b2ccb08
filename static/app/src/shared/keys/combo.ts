/**
 * Key combinations as text: "Mod+K", "Alt+Shift+Digit1", "F6", "?". Mod is Cmd on a Mac, Ctrl elsewhere.
 * With Alt the physical key counts (`event.code`), because Alt changes what a key writes on many keyboards.
 */
export interface KeyPress {
  key: string;
  code: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
  shiftKey: boolean;
}

export const onMac = (): boolean => /mac|iphone|ipad/i.test(navigator.platform);

export function matches(combo: string, press: KeyPress, mac: boolean): boolean {
  if (isSequence(combo)) return false; // takes two presses: actions.ts remembers the first
  const parts = combo.split("+").filter(Boolean);
  const name = combo.endsWith("++") ? "+" : (parts.at(-1) ?? "");
  const wants = (modifier: string) => parts.slice(0, -1).includes(modifier);
  const mod = mac ? press.metaKey : press.ctrlKey;
  const other = mac ? press.ctrlKey : press.metaKey;
  if (mod !== wants("Mod") || other || press.altKey !== wants("Alt")) return false;
  if (name === "?") return press.key === "?"; // which shift writes it depends on the keyboard
  if (press.shiftKey !== wants("Shift")) return false;
  if (name === "Backquote" || press.altKey) return press.code === name || press.code === `Key${name.toUpperCase()}`;
  return press.key.toLowerCase() === name.toLowerCase();
}

/** How a combination is written beside its action: "Ctrl K", "⌘K". */
export function spell(combo: string, mac: boolean): string {
  const names: Record<string, string> = mac
    ? { Mod: "⌘", Alt: "⌥", Shift: "⇧", Backquote: "`" }
    : { Mod: "Ctrl", Backquote: "`" };
  return combo
    .split("+")
    .map((part) => names[part] ?? part.replace(/^(Digit|Key)/, ""))
    .join(mac ? "" : " ");
}

/** A single letter (or one after another) acts only when no field has the focus (WCAG 2.1.4). */
export const isSingle = (combo: string): boolean => !combo.includes("+") && (combo.length === 1 || isSequence(combo));

/** "G N": first G, then N. */
export const isSequence = (combo: string): boolean => /^\S \S$/.test(combo);

export const SEQUENCE_WITHIN = 1500; // ms between the two keys

/** The letter a press may begin or end a sequence with; null for everything else. */
export const letterOf = (press: KeyPress): string | null =>
  !press.ctrlKey && !press.metaKey && !press.altKey && /^[a-z]$/i.test(press.key) ? press.key.toUpperCase() : null;

export function typesInto(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}
