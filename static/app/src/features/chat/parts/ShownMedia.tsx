import { lazy, Suspense } from "react";

import { useShown } from "../shown";

const MediaDialog = lazy(() => import("./MediaDialog"));

/** The dialog is loaded when the first file is opened. */
export function ShownMedia() {
  const shown = useShown((state) => state.shown);
  return shown && <Suspense fallback={null}><MediaDialog key={shown.opening} shown={shown} /></Suspense>;
}
