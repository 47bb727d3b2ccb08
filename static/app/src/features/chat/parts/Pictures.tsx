import { useState } from "react";
import { useTranslation } from "react-i18next";

import { pictureUrl } from "../api";
import type { ToolItem } from "../model";
import { picturesOf } from "../pictures";
import { useChat } from "../store";

/** The pictures an agent looked at, as far as they lie in the workspace and are still there. */
export function Pictures({ items }: { items: readonly ToolItem[] }) {
  const paths = picturesOf(items);
  if (paths.length === 0) return null;
  return <div className="chat-pictures">{paths.map((path) => <Picture key={path} path={path} />)}</div>;
}

/** It has its place before it is loaded. A file that is gone leaves its name. */
function Picture({ path }: { path: string }) {
  const { t } = useTranslation("chat");
  const workspace = useChat((state) => state.workspace);
  const [large, setLarge] = useState(false);
  const [gone, setGone] = useState(false);
  if (workspace === null) return null;
  if (gone) return <span className="chip" title={path}>{t("image.gone", { name: path.split("/").at(-1) })}</span>;
  return (
    <button type="button" className={large ? "chat-thumb large" : "chat-thumb chat-picture"} onClick={() => setLarge(!large)} title={path} aria-label={`${t("image.zoom")}: ${path}`} aria-pressed={large}>
      <img src={pictureUrl(workspace, path)} alt="" loading="lazy" decoding="async" onError={() => setGone(true)} />
    </button>
  );
}
