import { Spotlight, createSpotlight } from "@mantine/spotlight";
import "@mantine/spotlight/styles.css";
import { useEffect, useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { create } from "zustand";
import type { Workspace } from "@/api/workspaces";
import { setFlag } from "@/features/firstrun";
import { rowState, useSessions } from "@/features/sessions";
import { when } from "@/features/sessions/when";
import { useAuth } from "@/shared/auth";
import { useActions } from "@/shared/keys/actions";
import { onMac, spell } from "@/shared/keys/combo";
import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { Segments } from "@/shared/ui/Segments";
import { Marked, useHits } from "@/features/search";
import { openEntry, openSession, useRunningSessions } from "@/shell/chatPort";
import { openSearch } from "@/shell/openSearch";
import { highlight, parseQuery, rank, type Scope } from "./match";
import "./palette.css";

const [store, palette] = createSpotlight();
export const openPalette = (): void => palette.open();
/** What the palette opens with: Ctrl+P asks for files. */
const useWish = create<{ scope: Scope }>()(() => ({ scope: "all" }));
export function openFiles(): void {
  useWish.setState({ scope: "files" });
  palette.open();
}
export const togglePalette = (): void => palette.toggle();

const Label = ({ label, text }: { label: string; text: string }) => (
  <span className="clip">{highlight(label, text).map((part, index) => (part.hit ? <b key={index}>{part.text}</b> : part.text))}</span>
);

const EVERYWHERE = { projectId: null } as const;

/** Ctrl+K: sessions, messages and commands in one list. `>` commands only, `#` sessions only. */
export function Palette({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation(["palette", "common", "search", "sessions"]);
  const [typed, setTyped] = useState("");
  const scope = useWish((state) => state.scope);
  const setScope = (next: Scope) => useWish.setState({ scope: next });
  const actions = useActions((state) => state.actions);
  const { rows } = useSessions(workspace.path);
  const running = useRunningSessions();
  const query = parseQuery(typed, scope);
  // Its search may be what finds out that the login is over: it makes room for the dialog that asks.
  const expired = useAuth((state) => state.phase === "expired");
  useEffect(() => {
    if (expired) palette.close();
  }, [expired]);

  const commands = useMemo(() => actions.filter((action) => action.inPalette !== false), [actions]);
  const sessions = query.scope === "commands" || query.scope === "files" ? [] : rank(rows, (row) => row.title || t("sessions:untitled"), query.text, query.text ? 8 : 5);
  const found = query.scope === "sessions" || query.scope === "files" ? [] : rank(commands, (action) => action.label, query.text, 30);
  // What was said, from the server; commands and files have places of their own.
  const inMessages = query.text.length >= 2 && (query.scope === "all" || query.scope === "sessions");
  const said = useHits(inMessages ? query.text : "", EVERYWHERE, 5);
  const hits = inMessages ? said.hits.slice(0, 5) : [];
  const shown = sessions.length + found.length + hits.length;
  // The library selects the first row when the text changes; what arrives later (hits, commands just loaded) is selected here.
  useEffect(() => {
    const list = document.getElementById(store.getState().listId);
    const first = list?.querySelector("[data-action]");
    if (!typed.trim() || !first || list?.querySelector("[data-selected]")) return;
    first.setAttribute("data-selected", "true");
    store.updateState((state) => ({ ...state, selected: 0 }));
  }, [shown, typed]);

  return (
    <Spotlight.Root store={store} query={typed} onQueryChange={setTyped} shortcut={null} size={640} radius="lg" zIndex={350} centered={false} yOffset="12vh" overlayProps={{ blur: 0 }} scrollable maxHeight={440} clearQueryOnClose
      onSpotlightOpen={() => setFlag("keyboard")} onSpotlightClose={() => setScope("all")} classNames={{ content: "palette", inner: "palette-inner" }}>
      <div className="palette-head">
        <Spotlight.Search placeholder={t("placeholder")} leftSection={<Icon name="search" />} aria-label={t("placeholder")} className="grow" />
        <Segments<Scope> label={t("title")} value={query.scope} onChange={setScope} options={[{ value: "all", label: t("all") }, { value: "sessions", label: t("sessions") }, { value: "files", label: t("files") }, { value: "commands", label: t("commands") }]} />
      </div>
      <Spotlight.ActionsList>
        {sessions.length > 0 && (
          <Spotlight.ActionsGroup label={t("sessions")}>
            {sessions.map((row) => (
              <Spotlight.Action key={row.id} onClick={() => openSession(row.id)}>
                <span className="palette-row"><Ring state={rowState(row, running)} /><Label label={row.title || t("sessions:untitled")} text={query.text} />
                  <span className="t3 sm grow clip">{t("sessions:turns", { count: row.exchangeCount })}, {when(row.updatedAt, Date.now())}</span></span>
              </Spotlight.Action>
            ))}
          </Spotlight.ActionsGroup>
        )}
        {hits.length > 0 && (
          <Spotlight.ActionsGroup label={t("search:inMessages")}>
            {hits.map((hit) => (
              <Spotlight.Action key={hit.entryId} onClick={() => openEntry(hit.workspacePath, hit.sessionId, hit.entryId, said.terms)}>
                <span className="palette-row"><Icon name="chat" /><span className="clip palette-said"><Marked text={hit.snippet} terms={said.terms} /></span><span className="t3 sm grow clip">{hit.title}, {when(hit.timestamp, Date.now())}</span></span>
              </Spotlight.Action>
            ))}
            {said.hasNextPage && (
              <Spotlight.Action onClick={() => openSearch(query.text)}>
                <span className="palette-row"><Icon name="search" /><span className="clip">{t("search:everything", { text: query.text })}</span></span>
              </Spotlight.Action>
            )}
          </Spotlight.ActionsGroup>
        )}
        {found.length > 0 && (
          <Spotlight.ActionsGroup label={t("commands")}>
            {found.map((action) => (
              <Spotlight.Action key={action.id} onClick={action.run}>
                <span className="palette-row"><Icon name="slash" /><Label label={action.label} text={query.text} /><span className="grow" />
                  {action.keys?.[0] && <kbd className="kbd">{spell(action.keys[0], onMac())}</kbd>}</span>
              </Spotlight.Action>
            ))}
          </Spotlight.ActionsGroup>
        )}
        {shown === 0 && <Spotlight.Empty>{inMessages && said.isFetching ? t("search:searching") : query.scope === "files" ? t("common:state.notBuilt") : t("nothing", { text: query.text })}</Spotlight.Empty>}
      </Spotlight.ActionsList>
      <Spotlight.Footer className="palette-foot">
        <span><kbd className="kbd">↑</kbd> <kbd className="kbd">↓</kbd> {t("choose")}</span><span><kbd className="kbd">Enter</kbd> {t("open")}</span><span>{t("hint")}</span>
        <span className="grow" /><span className="num">{t("shown", { shown, all: rows.length + commands.length })}</span>
      </Spotlight.Footer>
    </Spotlight.Root>
  );
}
