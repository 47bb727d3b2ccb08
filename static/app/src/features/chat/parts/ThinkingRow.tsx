import { memo } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import type { ThinkingItem } from "../model";
import { clock } from "../format";
import { useChat } from "../store";
import { useOpen } from "./memory";
import { useNow } from "./tick";

/** One line; opens in place. "Show thinking live" opens it while it runs, for those who want that. */
export const ThinkingRow = memo(function ThinkingRow({ item }: { item: ThinkingItem }) {
  const { t } = useTranslation("chat");
  const live = useChat((state) => state.liveThinking);
  const [open, setOpen] = useOpen(item.key, live);
  const now = useNow(item.open);
  const words = item.open
    ? now > item.at + 999
      ? t("thinking.running", { time: spoken(now - item.at) })
      : t("thinking.now")
    : item.ms === null || item.ms < 500
      ? t("thinking.plain")
      : t("thinking.done", { time: spoken(item.ms) });
  return (
    <div className="chat-thinking">
      <button type="button" className="chat-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name={open ? "down" : "right"} size={12} />
        <Icon name="brain" size={14} />
        <span className="num">{words}</span>
      </button>
      {open && <div className="chat-thought">{item.text}</div>}
    </div>
  );
});

/** Whole seconds below a minute: "6 s"; then "1:12". */
const spoken = (ms: number): string => (ms < 60_000 ? `${Math.max(1, Math.round(ms / 1000))} s` : clock(ms));
