import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";
import { listServers, type AgentRow, type McpServer, type McpState } from "@/api/agents";
import { errorText } from "@/api/client";
import { Icon } from "@/shared/ui/Icon";
import { Fact } from "@/shared/ui/Pane";
import { Ring, type RingState } from "@/shared/ui/Ring";

const RINGS: Record<McpState["state"], RingState> = { starting: "run", ready: "ok", failed: "err", ended: "idle" };

/** MCP servers of the agent: one that a run needed says how it is, for each level of sessions on its own. */
export function Servers({ row, project }: { row: AgentRow; project: string }) {
  const { t } = useTranslation(["agents", "common"]);
  const serves = !row.overridden;
  const query = useQuery({ queryKey: ["agent", "mcp", project, row.id], queryFn: () => listServers(project, row.id), refetchOnMount: "always", refetchOnWindowFocus: "always", enabled: serves });
  const servers = query.data ?? [];
  if (!serves) return null;
  return (
    <Fact name={t("fact.mcp")}>
      {query.isError && <p className="err sm" role="alert">{errorText(query.error)}</p>}
      {query.isSuccess && servers.length === 0 && <span className="t3">{t("empty.mcp")}</span>}
      {servers.length > 0 && <ul className="servers" aria-label={t("fact.mcp")}>{servers.map((server) => <Server key={server.name} server={server} />)}</ul>}
      {servers.length > 0 && <button className="link-btn xs" onClick={() => void query.refetch()} aria-busy={query.isFetching}>{t("mcp.again")}</button>}
    </Fact>
  );
}

function Server({ server }: { server: McpServer }) {
  const { t } = useTranslation(["agents", "workspace"]);
  return (
    <li>
      <div className="row servers-head">
        <strong className="mono">{server.name}</strong><span className="chip outline">{server.transport}</span>
        {server.requiresAccess === "full" && <span className="chip outline" title={t("mcp.needs", { level: t(`workspace:level.${server.requiresAccess}`) })}><Icon name="lock" size={10} />{t(`workspace:level.${server.requiresAccess}`)}</span>}
        {server.states.length === 0 && <span className="t3 sm"><Ring state="idle" labelled={false} /> {t("mcp.none")}</span>}
      </div>
      {server.states.map((one) => (
        <details key={one.level} className="servers-state" open={one.state === "failed"}>
          <summary><Ring state={RINGS[one.state]} labelled={false} />{t(`mcp.${one.state}`)}<span className="t3">{t(`workspace:level.${one.level}`)}{one.state === "ready" ? ` · ${t("mcp.tools", { count: one.tools.length })}` : ""}</span></summary>
          {one.error && <p className="err sm">{one.error}</p>}
          {one.warnings.map((text) => <p key={text} className="warn sm">{text}</p>)}
          {one.tools.length > 0 && <div className="fact-chips">{one.tools.map((tool) => <span key={tool} className="chip mono">{tool}</span>)}</div>}
        </details>
      ))}
    </li>
  );
}
