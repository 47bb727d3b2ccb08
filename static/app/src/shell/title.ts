/** Title and favicon of the browser tab: at work, needs you, the badge of the installation. */
import { useEffect } from "react";
import type { Workspace } from "@/api/workspaces";
import { useNeeds } from "@/features/sessions";
import { folderName } from "@/features/workspace";
import { useAuth } from "@/shared/auth";
import { useRunningSessions } from "./chatPort";

/** `[BADGE] ● Halo — name` while at work, `(2) Halo — name` when two need you. */
export function titleText(name: string | null, running: number, needs: number, badge: string | null): string {
  const base = name ? `Halo — ${name}` : "Halo";
  const state = needs > 0 ? `(${needs}) ` : running > 0 ? "● " : "";
  return `${badge ? `[${badge}] ` : ""}${state}${base}`;
}

const escape = (text: string): string => text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);

/** The ring as a picture; a dot in it while something runs or waits for you, a red band with the badge. */
export function faviconSvg(dot: boolean, badge: string | null): string {
  const band = badge
    ? `<rect y="20" width="32" height="12" rx="2" fill="#c93b45"/><text x="16" y="29.5" font-size="10" font-family="sans-serif" font-weight="700" text-anchor="middle" fill="#fff">${escape(badge.slice(0, 4))}</text>`
    : "";
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><defs><linearGradient id="a" x1="0" y1="1" x2="1" y2="0"><stop offset="0" stop-color="#ffc46a"/><stop offset=".35" stop-color="#ff8ea6"/><stop offset=".7" stop-color="#a88bff"/><stop offset="1" stop-color="#6db3ff"/></linearGradient></defs><circle cx="16" cy="16" r="12" fill="none" stroke="url(#a)" stroke-width="5.5"/>${dot ? '<circle cx="16" cy="16" r="5" fill="#a88bff"/>' : ""}${band}</svg>`;
}

export function useTitle(workspace: Workspace): void {
  const running = useRunningSessions().length;
  const needs = useNeeds().length;
  const badge = useAuth((state) => state.badge);
  useEffect(() => {
    document.title = titleText(folderName(workspace.path), running, needs, badge);
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    if (link) link.href = `data:image/svg+xml,${encodeURIComponent(faviconSvg(running > 0 || needs > 0, badge))}`;
  }, [workspace.path, running, needs, badge]);
}
