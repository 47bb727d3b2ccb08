import { memo, useState } from "react";
import { useTranslation } from "react-i18next";

import { cachedPercent, count, duration, money } from "../format";
import type { UsageSum } from "../rows";

/** One quiet line per model call; the numbers behind it on hover, focus or press. */
export const UsageRow = memo(function UsageRow({ sum, total }: { sum: UsageSum; total: boolean }) {
  const { t } = useTranslation("chat");
  const [open, setOpen] = useState(false);
  const all = sum.input + sum.cacheRead + sum.cacheWrite;
  const percent = cachedPercent(sum.input, sum.cacheRead, sum.cacheWrite);
  const cost = sum.costMicros === null ? t("usage.unknown") : money(sum.costMicros, sum.currency);
  const parts = [
    ...(total ? [t("usage.total", { n: sum.calls })] : sum.ttftMs !== null ? [t("usage.first", { time: seconds(sum.ttftMs) })] : []),
    percent === null ? t("usage.in", { n: count(all) }) : t("usage.inCached", { n: count(all), percent }),
    t("usage.out", { n: count(sum.output) }),
    cost,
  ];
  const line = (
    <button type="button" className="chat-usage num" aria-expanded={open} onMouseEnter={() => setOpen(true)} onMouseLeave={() => setOpen(false)}
      onFocus={() => setOpen(true)} onBlur={() => setOpen(false)} onClick={() => setOpen(!open)}>
      {parts.map((part) => <span key={part}>{part}</span>)}
    </button>
  );
  // A log holds hundreds of these lines: the table is made when somebody asks for it.
  return <>{line}{open && <Details sum={sum} total={total} cost={cost} />}</>;
});

function Details({ sum, total, cost }: { sum: UsageSum; total: boolean; cost: string }) {
  const { t } = useTranslation("chat");
  const table: [string, string][] = [
    [t("usage.model"), sum.modelId ?? "–"],
    ...(total ? [[t("usage.calls"), String(sum.calls)] as [string, string]] : []),
    [t("usage.input"), sum.input.toLocaleString()],
    [t("usage.read"), sum.cacheRead.toLocaleString()],
    [t("usage.write"), sum.cacheWrite.toLocaleString()],
    [t("usage.output"), sum.output.toLocaleString()],
    ...(sum.ttftMs !== null ? [[t("usage.firstToken"), duration(sum.ttftMs)] as [string, string]] : []),
    ...(sum.totalMs !== null ? [[t("usage.time"), duration(sum.totalMs)] as [string, string]] : []),
    ...(sum.effort !== null ? [[t("usage.effort"), sum.effort] as [string, string]] : []),
    [t("usage.cost"), cost],
  ];
  return (
    <div className="chat-usage-table" role="tooltip">
      <table aria-label={t("usage.details")}><tbody>
        {table.map(([name, value]) => <tr key={name}><th scope="row">{name}</th><td className="num">{value}</td></tr>)}
      </tbody></table>
    </div>
  );
}

/** First-token times read better as seconds: 0.64 s. */
const seconds = (ms: number): string => (ms < 100 ? `${ms} ms` : ms < 10_000 ? `${(ms / 1000).toFixed(2)} s` : duration(ms));
