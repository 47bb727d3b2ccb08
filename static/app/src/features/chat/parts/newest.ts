import type { View } from "../model";

/** The text of the newest message of the person, to be said again; empty when there is none. */
export function newestUserText(view: View): string {
  for (const items of [view.pending, view.live, view.past]) {
    for (let place = items.length - 1; place >= 0; place -= 1) {
      const item = items[place]!;
      if (item.kind === "user" && !item.deleted) return item.text;
    }
  }
  return "";
}
