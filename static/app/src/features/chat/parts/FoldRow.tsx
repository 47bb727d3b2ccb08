import { memo } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { duration } from "../format";
import type { ToolItem } from "../model";
import { outcomeOf, subjectOf, verbOf, type Verb } from "../tools";
import { useOpen } from "./memory";
import { Pictures } from "./Pictures";
import { ToolCard } from "./ToolCard";

const FOLDED: readonly Extract<Verb, "read" | "list" | "search" | "fetch" | "look">[] = ["read", "list", "search", "fetch", "look"];

/** Reads in a row: one line that changes in place, "Reading views.py", then "Read 3 files, searched twice". */
export const FoldRow = memo(function FoldRow({ name, items, working }: { name: string; items: readonly ToolItem[]; working: boolean }) {
  const { t, i18n } = useTranslation("chat");
  const [open, setOpen] = useOpen(name);
  const running = working ? items.filter((item) => item.output === null) : [];
  const failed = items.filter((item) => outcomeOf(item.output) === "err").length;
  const refused = items.some((item) => outcomeOf(item.output) === "warn");
  const ms = items.reduce((sum, item) => sum + (item.ms ?? 0), 0);
  const last = running.at(-1);
  let words: string;
  if (last) {
    words = `${t(`tool.doing.${verbOf(last.name)}`)} ${subjectOf(last)}`;
  } else {
    const parts = FOLDED.flatMap((verb) => {
      const count = items.filter((item) => verbOf(item.name) === verb).length;
      return count > 0 ? [t(`fold.${verb}`, { count })] : [];
    });
    const joined = parts.join(i18n.language === "zh" ? "，" : ", ");
    words = joined.charAt(0).toUpperCase() + joined.slice(1);
  }
  return (
    <div className="chat-fold">
      <button type="button" className="chat-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} size={12} />
        <Ring state={last ? "run" : failed > 0 ? "err" : refused ? "warn" : "ok"} />
        <span className="clip">{words}</span>
        {failed > 0 && !last && <span className="err xs">{t("fold.failed", { count: failed })}</span>}
        {!last && ms > 0 && <span className="t3 xs num">{duration(ms)}</span>}
      </button>
      <Pictures items={items} />
      {open && <div className="chat-fold-cards">{items.map((item) => <ToolCard key={item.key} item={item} working={working} />)}</div>}
    </div>
  );
});
