import { memo } from "react";
import { useTranslation } from "react-i18next";

import { Ring } from "@/shared/ui/Ring";
import { dayLabel } from "./format";
import { AgentsCard } from "./parts/AgentsCard";
import { FoldRow } from "./parts/FoldRow";
import { NoticeRow } from "./parts/NoticeRow";
import { ThinkingRow } from "./parts/ThinkingRow";
import { TextRow } from "./parts/TextRow";
import { ToolCard } from "./parts/ToolCard";
import { UsageRow } from "./parts/UsageRow";
import { SummaryCard, UserCard } from "./parts/UserCard";
import type { Row } from "./rows";

export interface RowContext {
  sessionId: string;
  canWrite: boolean;
  mayStop: boolean; // also where nobody may write: a sub-agent's log
  busy: boolean;
  running: boolean;
  onModelSettings: (() => void) | undefined;
}

interface Props {
  row: Row;
  last: boolean;
  context: RowContext;
}

export const RowView = memo(function RowView({ row, last, context }: Props) {
  switch (row.kind) {
    case "date":
      return <DateLine at={row.at} />;
    case "user":
      return <UserCard item={row.item} sessionId={context.sessionId} canWrite={context.canWrite} busy={context.busy} />;
    case "summary":
      return <SummaryCard item={row.item} />;
    case "text":
      return <TextRow item={row.item} sessionId={context.sessionId} canWrite={context.canWrite} caret={last && context.running} />;
    case "thinking":
      return <ThinkingRow item={row.item} />;
    case "tool":
      return <ToolCard item={row.item} working={context.running} />;
    case "fold":
      return <FoldRow name={row.key} items={row.items} working={context.running} />;
    case "usage":
      return <UsageRow sum={row.sum} total={row.total} />;
    case "notice":
      return <NoticeRow item={row.item} sessionId={context.sessionId} last={last} canWrite={context.canWrite} onModelSettings={context.onModelSettings} />;
    case "executing":
      return <ExecutingLine line={row.line} />;
    case "agents":
      return <AgentsCard agents={row.agents} canWrite={context.mayStop} />;
    case "caret":
      return <div className="md md-caret"><p>{"​"}</p></div>;
  }
});

function ExecutingLine({ line }: { line: string }) {
  const { t } = useTranslation("chat");
  return <div className="chat-notice"><Ring state="run" labelled={false} /><span className="grow clip" title={line}>{t("notice.executing", { line })}</span></div>;
}

function DateLine({ at }: { at: number }) {
  const { t, i18n } = useTranslation("chat");
  const label = dayLabel(at, Date.now(), i18n.language);
  return <div className="chat-date" role="separator"><span>{typeof label === "string" ? t(`day.${label}`) : label.date}</span></div>;
}
