import i18next from "i18next";
import { currentLanguage } from "@/shared/i18n";
import { ago } from "./rows";

/** How long ago, in words of the present language. */
export function when(at: number, now: number): string {
  const passed = ago(at, now);
  switch (passed.kind) {
    case "now": return i18next.t("common:time.now");
    case "minutes": return i18next.t("common:time.minutes", { n: passed.n });
    case "hours": return i18next.t("common:time.hours", { n: passed.n });
    case "yesterday": return i18next.t("common:time.yesterday");
    case "date": return new Intl.DateTimeFormat(currentLanguage(), { day: "numeric", month: "short" }).format(at);
  }
}
