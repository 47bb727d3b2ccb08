import { useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { testProvider, type Provider, type Providers } from "@/api/settings";
import { Icon } from "@/shared/ui/Icon";
import { clock } from "./FieldRow";
import { reportText } from "./report";

/** The Test button of a provider: one small real call with what is stored. */
export function ProviderTest({ provider, current, project }: { provider: Provider; current: Providers["current"]; project: string }) {
  const { t } = useTranslation("settings");
  const [busy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<{ ok: boolean; text: string; time: string } | null>(null);
  const used = current?.provider === provider.id;

  const test = async () => {
    setBusy(true);
    try {
      const report = await testProvider(project, { provider: provider.id, model: (used && current?.model) || provider.defaultModelId, endpoint: (used && current?.endpoint) || provider.defaultEndpoint });
      setAnswer({ ok: report.ok, text: reportText(t, report, provider.family === "demo"), time: clock() });
    } catch (cause) {
      setAnswer({ ok: false, text: errorText(cause), time: clock() });
    } finally {
      setBusy(false);
    }
  };

  return (
    <div className="provider-test" role="status">
      {answer ? <><Icon name={answer.ok ? "check" : "alert"} className={answer.ok ? "ok" : "err"} /><span className={answer.ok ? "t2 sm grow" : "err sm grow"}>{t("testAt", { time: answer.time })} {answer.text}</span></> : <span className="grow t3 sm">{used ? `${current?.model ?? ""} ${current?.endpoint ?? ""}` : provider.defaultEndpoint}</span>}
      <button className="btn" disabled={busy} aria-busy={busy} onClick={() => void test()}><Icon name="bolt" size={14} />{t(busy ? "testing" : "test")}</button>
    </div>
  );
}
