import { useSyncExternalStore } from "react";

/** Whether a media query holds right now. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (notify) => {
      const list = window.matchMedia(query);
      list.addEventListener("change", notify);
      return () => list.removeEventListener("change", notify);
    },
    () => window.matchMedia(query).matches,
  );
}

/** Below 768 px: dialogs fill the screen. */
export const usePhone = (): boolean => useMedia("(max-width: 767px)");
