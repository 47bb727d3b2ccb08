import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { clock } from "../format";
import type { AgentAtWork } from "../model";
import { stop } from "../store";
import { spokenName, verbOf } from "../tools";
import { OpenSession } from "./Callout";
import { useNow } from "./tick";

/** The sub-agents of this session: what each does, with the way into its log and its own Stop. */
export function AgentsCard({ agents, canWrite }: { agents: readonly AgentAtWork[]; canWrite: boolean }) {
  const { t } = useTranslation("chat");
  const working = agents.filter((agent) => !agent.done).length;
  const now = useNow(working > 0);
  return (
    <section className="chat-tool" aria-label={t("agents.title")}>
      <div className="chat-tool-head"><Icon name="users" size={14} /><b>{t("agents.title")}</b><span className="t3 num">{t("agents.working", { n: working, all: agents.length })}</span></div>
      {agents.map((agent) => {
        const doing = agent.act && (t(`tool.doing.${verbOf(agent.act)}`) || spokenName(agent.act));
        return (
          <div key={agent.taskId} className="chat-agent">
            <Ring state={agent.done ? "ok" : "run"} />
            <b>{agent.name}</b>
            <span className="t2 clip grow" title={agent.task}>{agent.task}</span>
            {!agent.done && <span className="t3 xs num chat-agent-act">{doing ? `${doing} · ` : ""}{clock(Math.max(0, now - agent.since))}</span>}
            {canWrite && !agent.done && (
              <button type="button" className="icon-btn small" title={t("agents.stop", { name: agent.name })} aria-label={t("agents.stop", { name: agent.name })} onClick={() => stop(agent.taskId)}><Icon name="stop" size={12} /></button>
            )}
            <OpenSession session={agent.taskId} workspace={null} name={agent.name} />
          </div>
        );
      })}
    </section>
  );
}
