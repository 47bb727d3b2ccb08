/** What a connection test found, in one sentence. */
import type { TFunction } from "i18next";
import type { ConnectionReport } from "@/api/settings";

/** 850 ms, 1.2 s */
export const duration = (ms: number): string => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

export function reportText(t: TFunction<"settings">, report: ConnectionReport, demo: boolean): string {
  if (!report.ok) return report.error;
  if (demo) return t("testOkDemo");
  const models = report.models.length ? t("modelsFound", { count: report.models.length }) : t("modelsUnknown");
  return t("testOk", { reach: duration(report.reachMs ?? 0), models, first: duration(report.firstTokenMs ?? report.durationMs ?? 0) });
}
