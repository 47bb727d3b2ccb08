import { memo, useId, useMemo, useRef, useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { Ring, type RingState } from "@/shared/ui/Ring";
import { clock, duration } from "../format";
import { Code } from "../markdown/CodeBlock";
import type { ToolItem } from "../model";
import { stripAnsi } from "../ansi";
import { commandOutput, factOf, isCut, type Fact } from "../toolFacts";
import { changesOf, firstLine, isUnknown, mcpName, outcomeOf, plainOutput, preview, subjectOf, verbOf, type Change, type Outcome } from "../tools";
import { delegateOf } from "../callouts";
import { useChat } from "../store";
import { AnsiText } from "./AnsiText";
import { OpenSession } from "./Callout";
import { CopyButton } from "./CopyButton";
import { useOpen } from "./memory";
import { useNow } from "./tick";

export const RINGS: Record<Outcome, RingState> = { run: "run", ok: "ok", warn: "warn", err: "err", stopped: "off" };

/** `working`: the run is alive, so a call without an answer is at work; otherwise it never got one. */
export const ToolCard = memo(function ToolCard({ item, working }: { item: ToolItem; working: boolean }) {
  const { t } = useTranslation("chat");
  const verb = verbOf(item.name);
  const outcome: Outcome = item.output === null && !working ? "stopped" : outcomeOf(item.output);
  const [open, setOpen] = useOpen(item.key);
  const body = useId();
  const changes = useMemo(() => changesOf(item), [item]);
  const added = changes.filter((change) => change.sign === "+").length;
  const removed = changes.filter((change) => change.sign === "-").length;
  const mcp = mcpName(item.name);
  const shownVerb = mcp?.tool ?? (t(`tool.${verb}`) || item.name);
  const fact = useMemo(() => factOf(item), [item]);
  const failed = outcome === "err" || outcome === "warn";
  const unknown = isUnknown(item.output);
  const delegate = useMemo(() => delegateOf(item), [item]);

  return (
    <div className={`chat-tool${unknown ? " chat-tool-unknown" : ""}`}>
      <button type="button" className="chat-tool-head" aria-expanded={open} aria-controls={body} onClick={() => setOpen(!open)} title={item.name}>
        <Ring state={RINGS[outcome]} />
        <b>{shownVerb}</b>
        {mcp && <span className="chip chat-tool-server" title={t("tool.server", { name: mcp.server })}><Icon name="plug" size={11} />{mcp.server}</span>}
        <span className="mono clip chat-tool-subject">{subjectOf(item)}</span>
        {changes.length > 0 && !failed && (
          <span className="num chat-tool-figures">
            {added > 0 && <span className="ok">+{added}</span>} {removed > 0 && <span className="err">−{removed}</span>}
          </span>
        )}
        {fact && <Figure fact={fact} outcome={outcome} />}
        {isCut(item.output) && <span className="t3 xs chat-tool-figures" title={t("tool.cutHint")}>{t("tool.cut")}</span>}
        {failed && item.output !== null && (fact === null || fact.kind === "ended") && <span className={`${outcome} clip chat-tool-error`}>{firstLine(item.output)}</span>}
        {outcome === "stopped" && <span className="t3">{t("tool.interrupted")}</span>}
        <span className="grow" />
        <Elapsed item={item} running={outcome === "run"} />
        <Icon name={open ? "down" : "right"} size={14} className="t3" />
      </button>
      {delegate && <Delegate {...delegate} asked={typeof item.input.agent_id === "string" ? item.input.agent_id : ""} />}
      {unknown && <div className="chat-tool-warn"><Icon name="alert" size={14} />{t("tool.unknown")}</div>}
      {!open && changes.length > 0 && !failed && <Diff changes={preview(changes, 3)} />}
      {!open && verb === "run" && <Terminal item={item} outcome={outcome} />}
      {open && <Details id={body} item={item} changes={changes} />}
    </div>
  );
});

/** Who works on what was delegated, and the way there. */
function Delegate({ session, workspace, asked }: { session: string; workspace: string | null; asked: string }) {
  const { t } = useTranslation("chat");
  const agent = useChat((state) => Object.values(state.views).flatMap((view) => view.agents).find((one) => one.taskId === session));
  return (
    <div className="chat-agent">
      {agent ? <Ring state={agent.done ? "ok" : "run"} /> : <Icon name={workspace ? "relay" : "users"} size={14} />}
      <b>{agent?.name ?? ((workspace ? workspace.split("/").at(-1) : asked) || t("agents.one"))}</b>
      {agent && <span className="t3">{t(agent.done ? "agents.done" : "agents.atWork")}</span>}
      <span className="grow" />
      <OpenSession session={session} workspace={workspace} name={agent?.name ?? session} />
    </div>
  );
}

/** The result in a word or a number, after the subject. */
function Figure({ fact, outcome }: { fact: Fact; outcome: Outcome }) {
  const { t } = useTranslation("chat");
  const bad = outcome === "err" ? "err" : outcome === "warn" ? "warn" : "t3";
  switch (fact.kind) {
    case "matches":
    case "files":
    case "entries":
      return <span className="t3 chat-tool-figures num">{t(`tool.fact.${fact.kind}`, { count: fact.n })}{fact.more ? "+" : ""}</span>;
    case "status":
      return <span className={`chat-tool-figures num ${fact.code >= 400 ? "warn" : "t3"}`}>{fact.code} {fact.type}</span>;
    case "picture":
      return <span className="t3 chat-tool-figures num">{fact.type}, {fact.size}{fact.resized ? `, ${t("tool.fact.resized")}` : ""}</span>;
    case "exit":
      return <span className={`chat-tool-figures num ${bad}`}>{t("tool.fact.exit", { code: fact.code })}</span>;
    case "signal":
      return <span className={`chat-tool-figures num ${bad}`}>{t("tool.fact.signal", { n: fact.n })}</span>;
    case "timeout":
      return <span className={`chat-tool-figures num ${bad}`}>{t("tool.fact.timeout", { time: duration(fact.ms) })}</span>;
    case "ended":
      return null; // the first line says it
  }
}

function Elapsed({ item, running }: { item: ToolItem; running: boolean }) {
  const now = useNow(running);
  if (running) return <span className="t3 xs num">{now > item.at + 999 ? clock(now - item.at) : ""}</span>;
  return item.ms === null ? null : <span className="t3 xs num">{duration(item.ms)}</span>;
}

export const Diff = ({ changes }: { changes: readonly Change[] }) => (
  <div className="chat-diff">
    {changes.map((change, place) => (
      <div key={place} className={change.sign === "+" ? "add" : change.sign === "-" ? "del" : ""}>
        <span aria-hidden="true">{change.sign}</span>{change.text || " "}
      </div>
    ))}
  </div>
);

/** Rows of a running command's box: the box has its height before the first line comes, so nothing grows. */
const LINES = 8;

function Terminal({ item, outcome }: { item: ToolItem; outcome: Outcome }) {
  const { t } = useTranslation("chat");
  const box = useRef<HTMLPreElement>(null);
  const running = outcome === "run";
  const text = item.output === null ? item.tail : commandOutput(item.output);
  const lines = useMemo(() => text.replace(/\n+$/, "").split("\n").slice(running ? -200 : -LINES).join("\n"), [text, running]);
  // A command that ran under our eyes keeps its box; one read from the log is as high as its output, at most eight lines.
  const [watched] = useState(running);
  useEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines]);
  if (!running && !watched && lines === "") return null;
  return (
    <pre ref={box} className={watched || running ? "chat-out chat-out-live" : "chat-out"} tabIndex={0}>
      {item.dropped > 0 && <span className="t3">{t("tool.dropped", { n: item.dropped })}{"\n"}</span>}
      {lines ? <AnsiText text={lines} /> : <span className="t3">{running ? t("tool.waitingOutput") : t("tool.noOutput")}</span>}
    </pre>
  );
}

const SHOWN = 200; // lines before "show all"

function Details({ id, item, changes }: { id: string; item: ToolItem; changes: readonly Change[] }) {
  const { t } = useTranslation("chat");
  const [wrap, setWrap] = useState(false);
  const [all, setAll] = useState(false);
  const input = useMemo(() => JSON.stringify(item.input, null, 2), [item.input]);
  const terminal = verbOf(item.name) === "run" || mcpName(item.name) !== null;
  const output = item.output === null ? item.tail : plainOutput(item.output);
  const lines = useMemo(() => output.split("\n"), [output]);
  const cut = !all && lines.length > SHOWN;
  return (
    <div id={id} role="region" aria-label={`${item.name} ${subjectOf(item)}`} className="chat-tool-body">
      <div className="chat-tool-part">
        <span>{t("tool.input")}</span><code className="t3">{item.name}</code><span className="grow" />
        <CopyButton text={input} label={t("user.copy")} />
      </div>
      {changes.length > 0 ? <Diff changes={changes.slice(0, SHOWN)} /> : <pre className="chat-out" tabIndex={0}><Code language="json" code={input} /></pre>}
      <div className="chat-tool-part">
        <span>{t("tool.output")}</span><span className="grow" />
        <button type="button" className="btn ghost tiny" aria-pressed={wrap} onClick={() => setWrap(!wrap)}>{t("tool.wrap")}</button>
        <CopyButton text={terminal ? stripAnsi(output) : output} label={t("user.copy")} />
      </div>
      <pre className={wrap ? "chat-out chat-out-wrap" : "chat-out"} tabIndex={0}>
        {output === "" ? <span className="t3">{t("tool.noOutput")}</span> : <Shown text={cut ? lines.slice(0, SHOWN).join("\n") : output} terminal={terminal} />}
      </pre>
      {cut && <button type="button" className="btn ghost tiny chat-tool-all" onClick={() => setAll(true)}>{t("tool.showAll", { n: lines.length })}</button>}
    </div>
  );
}

const Shown = ({ text, terminal }: { text: string; terminal: boolean }) => (terminal ? <AnsiText text={text} /> : <>{text}</>);
