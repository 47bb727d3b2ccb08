import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { useShallow } from "zustand/react/shallow";

import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { clock, count, money } from "../format";
import { busy, type View } from "../model";
import { interrupt, stop, useChat, viewOf } from "../store";
import { programOf, spokenName, subjectOf, verbOf } from "../tools";
import { useNow } from "./tick";

type Translate = ReturnType<typeof useTranslation<"chat">>["t"];

/** What the run is doing right now, in two or three words. */
export function activityOf(view: View, t: Translate): string {
  if (view.compacting) return t("run.compacting");
  for (let place = view.live.length - 1; place >= 0; place -= 1) {
    const item = view.live[place]!;
    if (item.kind === "tool" && item.output === null) {
      const verb = t(`tool.doing.${verbOf(item.name)}`) || spokenName(item.name);
      const subject = subjectOf(item);
      return t("run.tool", { verb, subject: verbOf(item.name) === "run" ? programOf(subject) : subject.split("/").at(-1)!.slice(0, 40) }).trim();
    }
    if (item.kind === "thinking" && item.open) return t("run.thinking");
    if (item.kind === "text") return t("run.writing");
    if (item.kind === "user") break;
  }
  return view.awaiting ? t("run.starting") : t("run.working", { agent: view.agentName || "Halo" });
}

/** Its place stays for a moment after the end, so that a follow-up does not make the composer hop. */
const LINGER = 600; // ms

interface Props {
  id: string;
  armed: boolean;
  canWrite: boolean;
}

export function RunBar({ id, armed, canWrite }: Props) {
  const { t } = useTranslation("chat");
  const { running, what, startedAt, runOutput, runCost, currency } = useChat(
    useShallow((state) => {
      const view = viewOf(state, id);
      const at = busy(view);
      return { running: at, what: at ? activityOf(view, t) : "", startedAt: view.startedAt, runOutput: view.runOutput, runCost: view.runCost, currency: view.currency };
    }),
  );
  const [here, setHere] = useState(running);
  const now = useNow(running);
  useEffect(() => {
    if (running) {
      setHere(true);
      return undefined;
    }
    const timer = window.setTimeout(() => setHere(false), LINGER);
    return () => window.clearTimeout(timer);
  }, [running]);
  if (!running && !here) return null;
  if (!running) return <div className="chat-run" aria-hidden="true" style={{ visibility: "hidden" }} />;
  const facts = [
    startedAt === null ? "" : clock(Math.max(0, now - startedAt)),
    runOutput > 0 ? t("run.tokens", { n: count(runOutput) }) : "",
    runCost === null ? "" : money(runCost, currency),
  ].filter(Boolean);
  return (
    <div className="chat-run">
      <Ring state="run" />
      <span className="chat-run-what clip">{what}</span>
      <span className="t3 num chat-run-facts">{facts.join(" · ")}</span>
      <span className="grow" />
      {canWrite && (
        <>
          <button type="button" className={armed ? "btn ghost tiny armed" : "btn ghost tiny"} onClick={() => interrupt(id)}>
            {armed ? t("run.armed") : t("run.interrupt")} {!armed && <span className="kbd">Esc</span>}
          </button>
          <button type="button" className="btn tiny" title={t("run.stopHint")} onClick={() => stop(id)}>
            <Icon name="stop" size={12} />{t("run.stop")}
          </button>
        </>
      )}
    </div>
  );
}
