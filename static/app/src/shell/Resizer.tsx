import type { KeyboardEvent, PointerEvent } from "react";
import { useTranslation } from "react-i18next";
import { setSidebarWidth, SIDEBAR_MIN, useShell } from "./store";

/** The edge of the sidebar: drag it, or arrows while it has the focus. */
export function Resizer() {
  const { t } = useTranslation("shell");
  const width = useShell((state) => state.sidebarWidth);
  const onPointerDown = (event: PointerEvent<HTMLDivElement>) => {
    const edge = event.currentTarget;
    edge.setPointerCapture(event.pointerId);
    const start = event.clientX - width;
    const move = (next: globalThis.PointerEvent) => setSidebarWidth(next.clientX - start);
    edge.addEventListener("pointermove", move);
    edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", move), { once: true });
  };
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 16 : event.key === "ArrowLeft" ? -16 : 0;
    if (!step) return;
    event.preventDefault();
    setSidebarWidth(width + step);
  };
  return (
    <div className="resizer" role="separator" aria-orientation="vertical" aria-label={t("resizeSidebar")} aria-valuenow={width} aria-valuemin={SIDEBAR_MIN}
      aria-valuemax={Math.round(window.innerWidth * 0.4)} tabIndex={0} onPointerDown={onPointerDown} onKeyDown={onKey} />
  );
}
