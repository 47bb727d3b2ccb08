import { useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import type { Dispatch } from "@/api/relay";
import { clock } from "@/shared/clock";
import { graphOf, NODE, walk, type Arrow } from "./graph";
import { LOOKS, stateOf, waited } from "./shown";
import { endOf, folderOf, titleOf } from "./sides";

interface Props {
  rows: readonly Dispatch[];
  here: string;
  now: number;
  onOpen: (side: Dispatch["caller"]) => void;
}

const isArrow = (key: string): key is Arrow => /^Arrow(Left|Right|Up|Down)$/.test(key);

/** The picture of the tasks; nothing where the table says more. Arrows walk along the edges, Enter opens. */
export function RelayGraph({ rows, here, now, onOpen }: Props) {
  const { t } = useTranslation("relay");
  const graph = useMemo(() => graphOf(rows), [rows]);
  const [focused, setFocused] = useState("");
  const box = useRef<HTMLDivElement>(null);
  if (graph === null) return <p className="t3 sm">{t("tooMany")}</p>;

  const onKey = (event: KeyboardEvent<HTMLElement>, key: string) => {
    if (!isArrow(event.key) || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const next = walk(graph, key, event.key);
    if (next !== null) box.current?.querySelector<HTMLElement>(`[data-node="${CSS.escape(next)}"]`)?.focus();
  };
  const start = graph.nodes.some((node) => node.key === focused) ? focused : graph.nodes[0]?.key;

  return (
    <div className="relay-picture">
      <div className="relay-graph" role="group" aria-label={t("picture")} ref={box} style={{ width: graph.width, height: graph.height }}>
        <svg width={graph.width} height={graph.height} aria-hidden="true">
          <defs>
            {(["run", "wait", "ok", "err", "off"] as const).map((line) => (
              <marker key={line} id={`relay-head-${line}`} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto" className={`relay-head ${line}`}><path d="M0 0 8 4 0 8z" /></marker>
            ))}
          </defs>
          {graph.edges.map((edge) => {
            const { line } = LOOKS[stateOf(edge.dispatch)];
            return <path key={`${edge.from}>${edge.to}`} d={edge.path} className={`relay-edge ${line}`} markerEnd={`url(#relay-head-${line})`} />;
          })}
        </svg>
        {graph.edges.map((edge) => {
          const state = stateOf(edge.dispatch);
          const words = edge.dispatch.reason || t(`state.${state}`);
          const text = edge.dispatch.reason ? words : `${words} ${clock(waited(edge.dispatch, now))}`;
          return <span key={`${edge.from}>${edge.to}`} className={`relay-label clip num ${LOOKS[state].line}`} aria-hidden="true" title={text} style={{ left: edge.label.x, top: edge.label.y }}>{text}{edge.times > 1 && ` ×${edge.times}`}</span>;
        })}
        {graph.nodes.map((node) => {
          const mayOpen = endOf(node.side) !== null;
          return (
            <button
              key={node.key} type="button" data-node={node.key} className={node.side.workspace === here ? "relay-node here" : "relay-node"} aria-disabled={!mayOpen}
              style={{ left: node.x, top: node.y, width: NODE.width, height: NODE.height }} tabIndex={node.key === start ? 0 : -1} title={node.side.workspace ?? undefined}
              onFocus={() => setFocused(node.key)} onKeyDown={(event) => onKey(event, node.key)} onClick={() => mayOpen && onOpen(node.side)}
            >
              <b className="clip">{titleOf(node.side, t("hidden"))}</b>
              <span className="clip sm t3">{[node.side.workspace !== null && folderOf(node.side.workspace), node.interims > 0 && t("interims", { count: node.interims })].filter(Boolean).join(" · ")}</span>
            </button>
          );
        })}
      </div>
    </div>
  );
}
