/**
 * Each thing a person can do from everywhere is one object; palette, shortcuts and the key list read the same one.
 * A component registers its actions while it is mounted.
 */
import { useEffect } from "react";
import { create } from "zustand";
import { storage } from "@/shared/storage";
import { isSequence, isSingle, letterOf, matches, onMac, SEQUENCE_WITHIN, typesInto } from "./combo";

export interface Action {
  id: string;
  /** Already translated. */
  label: string;
  /** Combinations of combo.ts; the first is shown. */
  keys?: readonly string[];
  /** Group in the key list and the palette, translated. */
  group: string;
  /** false: listed among the keys, but not in the palette (moving focus and the like). */
  inPalette?: boolean;
  /** false: not now, and the key is left to the browser. */
  when?: () => boolean;
  run: () => void;
}

interface Registry {
  actions: readonly Action[];
  /** Keys without a modifier act; can be switched off for people who speak or tremble (WCAG 2.1.4). */
  singles: boolean;
}

export const useActions = create<Registry>()(() => ({ actions: [], singles: storage.get("halo_single_keys") !== "0" }));

export function setSingles(singles: boolean): void {
  storage.set("halo_single_keys", singles ? "1" : "0");
  useActions.setState({ singles });
}

/** Offer actions while the component is mounted; a later registration of the same id wins. */
export function useRegister(actions: readonly Action[]): void {
  useEffect(() => {
    useActions.setState(({ actions: old }) => ({
      actions: [...old.filter((one) => !actions.some((other) => other.id === one.id)), ...actions],
    }));
    return () => useActions.setState(({ actions: old }) => ({ actions: old.filter((one) => !actions.includes(one)) }));
  }, [actions]);
}

/** A letter acts here: no field has the focus, no dialog is open, and the person wants such keys. */
const lettersAct = (event: KeyboardEvent): boolean =>
  useActions.getState().singles && !typesInto(event.target) && !document.querySelector('[aria-modal="true"]');

let begun: { letter: string; at: number } | null = null;

/** The action of a two-letter sequence that this press ends; a press that may begin one is remembered. */
function sequence(event: KeyboardEvent): Action | undefined {
  const letter = letterOf(event);
  const first = begun !== null && event.timeStamp - begun.at < SEQUENCE_WITHIN ? begun.letter : null;
  begun = null;
  if (letter === null || !lettersAct(event)) return undefined;
  const { actions } = useActions.getState();
  const found = first === null ? undefined : actions.find((one) => one.keys?.includes(`${first} ${letter}`));
  if (!found && actions.some((one) => one.keys?.some((combo) => isSequence(combo) && combo.startsWith(letter)))) {
    begun = { letter, at: event.timeStamp };
  }
  return found;
}

/** One listener for the whole page, before the fields see the key. */
export function startKeys(): void {
  const mac = onMac();
  window.addEventListener(
    "keydown",
    (event) => {
      if (event.isComposing || event.defaultPrevented) return;
      const { actions } = useActions.getState();
      const single = (action: Action) =>
        (action.when?.() ?? true) && action.keys?.some((combo) => matches(combo, event, mac) && (!isSingle(combo) || lettersAct(event)));
      const action = sequence(event) ?? actions.find(single);
      if (!action) return;
      event.preventDefault();
      action.run();
    },
    true,
  );
}
