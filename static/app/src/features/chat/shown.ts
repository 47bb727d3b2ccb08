/** The file of a message that is open in the dialog: kept outside of its row, which may scroll away meanwhile. */
import { create } from "zustand";

import type { Media } from "./media";

export interface Shown {
  media: Media;
  workspace: string;
  path: string; // below the workspace
  opening: number; // ms; makes the address new, so that a file that changed is seen as it is
  from: HTMLElement; // has the focus again afterwards
}

export const useShown = create<{ shown: Shown | null }>(() => ({ shown: null }));

export const showMedia = (shown: Omit<Shown, "opening">): void => useShown.setState({ shown: { ...shown, opening: Date.now() } });

export const hideMedia = (): void => useShown.setState({ shown: null });
