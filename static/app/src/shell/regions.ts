/** F6 walks the regions of the page in the order they are seen. */

export const nextIndex = (at: number, count: number, step: 1 | -1): number => (count === 0 ? -1 : at < 0 ? (step === 1 ? 0 : count - 1) : (at + step + count) % count);

export function walkRegions(step: 1 | -1): void {
  const regions = [...document.querySelectorAll<HTMLElement>("[data-region]")].filter((region) => region.offsetParent !== null || region.getClientRects().length > 0);
  // Inner regions (the chat inside the main area) come after their parent; the innermost one with the focus counts.
  const at = regions.reduce((found, region, index) => (region.contains(document.activeElement) ? index : found), -1);
  const next = regions[nextIndex(at, regions.length, step)];
  if (!next) return;
  next.tabIndex = -1; // only while it has the focus: a click into the region must not draw a ring around it
  next.addEventListener("blur", () => next.removeAttribute("tabindex"), { once: true });
  next.focus();
}
