/** The files and folders offered behind an `@`, and the chips of the files that were chosen. */
import { useCallback, useEffect, useState } from "react";

import { searchFiles, type Match } from "@/api/files";
import { mentionAt, settled, type Mention } from "./mentions";
import { loadMentions, saveMentions } from "./tabs";

const PAUSE = 120; // ms after the last key
const MOST = 15;

export interface Mentions {
  /** What can be chosen now; empty = no list. */
  matches: readonly Match[];
  kind: Mention["kind"];
  /** Paths of chosen files. */
  files: readonly string[];
  /** The text after the choice, and its caret. */
  choose(path: string): { text: string; caret: number };
  dismiss(): void;
  remove(path: string): void;
  clear(): void;
}

export function useMentions(workspace: string, id: string, text: string, caret: number, off: boolean): Mentions {
  const [files, setFiles] = useState<readonly string[]>(() => loadMentions(workspace, id));
  const [found, setFound] = useState<{ key: string; matches: readonly Match[] }>({ key: "", matches: [] });
  const [dismissed, setDismissed] = useState("");
  const mention = off ? null : mentionAt(text, caret);
  const key = mention ? `${mention.kind}:${mention.start}:${mention.query}` : "";
  const shown = key !== "" && key !== dismissed;
  const kind = mention?.kind ?? "file";
  const query = mention?.query ?? "";

  useEffect(() => {
    if (!shown) return;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      searchFiles(workspace, query, MOST, kind === "scope", stop.signal)
        .then((matches) => {
          if (!stop.signal.aborted) setFound({ key, matches });
        })
        .catch(() => undefined); // no list then; the text is the person's own
    }, PAUSE);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [workspace, shown, key, kind, query]);

  const keep = useCallback(
    (next: readonly string[]): void => {
      setFiles(next);
      saveMentions(workspace, id, next);
    },
    [workspace, id],
  );

  return {
    matches: shown && found.key === key ? found.matches : [],
    kind,
    files,
    choose: (path) => {
      if (!mention) return { text, caret };
      if (mention.kind === "file" && !files.includes(path)) keep([...files, path]);
      return settled(text, mention, caret, path);
    },
    dismiss: () => setDismissed(key),
    remove: (path) => keep(files.filter((file) => file !== path)),
    clear: () => keep([]),
  };
}
