/**
 * What a screen reader is told: that work goes on, which tool failed, that the answer is there. Never the stream itself.
 * At most one announcement per 2 s; errors go to the assertive region.
 */
import { useEffect, useRef, useState } from "react";
import { useTranslation } from "react-i18next";

import type { Item } from "../model";
import { useChat, viewOf } from "../store";
import { outcomeOf, spokenName, subjectOf, verbOf } from "../tools";

const EVERY = 2000; // ms
const WORDS = 200; // characters of an answer that are read out

const newestText = (items: readonly Item[]): string => {
  for (let place = items.length - 1; place >= 0; place -= 1) {
    const item = items[place]!;
    if (item.kind === "text") return item.text;
    if (item.kind === "user") return "";
  }
  return "";
};

export function LiveRegion({ id }: { id: string }) {
  const { t } = useTranslation("chat");
  const [polite, setPolite] = useState("");
  const [assertive, setAssertive] = useState("");
  const next = useRef<string | null>(null);
  const free = useRef(0);

  // Listens without rendering: most of what streams is not announced.
  useEffect(() => useChat.subscribe((state, last) => {
    const view = viewOf(state, id);
    const old = viewOf(last, id);
    if (view === old || !old.loaded) return;
    const agent = view.agentName || "Halo";
    let words: string | null = null;
    if (view.running && !old.running) words = t("say.working", { agent });
    if (!view.running && old.running) {
      const text = newestText(view.past);
      words = text.length <= WORDS ? text : `${t("say.done", { n: text.split(/\n{2,}/).length })}`;
    }
    if (view.live !== old.live) {
      const was = new Map(old.live.map((item) => [item.key, item]));
      for (const item of view.live) {
        const known = was.get(item.key);
        if (item.kind === "tool" && outcomeOf(item.output) === "err" && known?.kind === "tool" && known.output === null) {
          words = t("say.failedTool", { verb: t(`tool.${verbOf(item.name)}`) || spokenName(item.name), subject: subjectOf(item) });
        }
        if (item.kind === "notice" && item.level === "error" && !known) setAssertive(item.text);
      }
    }
    if (words) next.current = words;
  }), [id, t]);

  useEffect(() => {
    const timer = window.setInterval(() => {
      const now = Date.now();
      if (next.current === null || now < free.current) return;
      setPolite(next.current);
      next.current = null;
      free.current = now + EVERY;
    }, 500);
    return () => window.clearInterval(timer);
  }, []);

  return (
    <>
      <div className="visually-hidden" role="status" aria-live="polite">{polite}</div>
      <div className="visually-hidden" role="alert" aria-live="assertive">{assertive}</div>
    </>
  );
}
