/** The commands of the session on screen, fetched anew when workspace, session, agent or language change. */
import { useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { create } from "zustand";

import { listCommands, type Command } from "@/api/commands";
import { useRegister, type Action } from "@/shared/keys/actions";
import { allChoices } from "./commands";
import { agentOf, putIntoComposer, send, useChat } from "./store";

/** While the server cannot be asked (spec commands 27). */
const FALLBACK: readonly Command[] = ["session", "help"].map((name) => ({
  name, slashName: `/${name}`, description: "", type: "server", argHint: "", source: "builtin", skillId: null, verbs: [], requiresAccess: null,
}));

const useStore = create<{ commands: readonly Command[] }>()(() => ({ commands: FALLBACK }));

const langOf = (language: string): "en" | "zh" => (language.toLowerCase().startsWith("zh") ? "zh" : "en");

export const useCommands = (): readonly Command[] => useStore((state) => state.commands);

/** Keep the list fresh, and offer it in the palette. Once, by whoever shows the session. */
export function useCommandList(workspace: string, id: string, draft: boolean): void {
  const { t, i18n } = useTranslation("chat");
  const agentId = useChat((state) => agentOf(state, id));
  const lang = langOf(i18n.language);
  useEffect(() => {
    const stop = new AbortController();
    listCommands(workspace, draft ? null : id, agentId, lang, stop.signal)
      .then((commands) => {
        if (!stop.signal.aborted) useStore.setState({ commands }); // half an answer has none
      })
      .catch(() => {
        if (!stop.signal.aborted) useStore.setState({ commands: FALLBACK });
      });
    return () => stop.abort();
  }, [workspace, id, draft, agentId, lang]);
  const commands = useCommands();
  const actions = useMemo<Action[]>(
    () =>
      allChoices(commands).map((choice) => ({
        id: `slash.${choice.text}`,
        label: choice.about ? `${choice.text}  ${choice.about}` : choice.text,
        group: t("composer.commands"),
        run: () => (choice.open ? putIntoComposer(id, `${choice.text} `) : send(id, choice.text)),
      })),
    [commands, id, t],
  );
  useRegister(actions);
}
