import { useQuery } from "@tanstack/react-query";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import type { IconName } from "@/shared/ui/icons";
import { refusalOf } from "../api";
import { pathWithin, type Media, type MediaKind } from "../media";
import { showMedia } from "../shown";
import { useChat } from "../store";

const ICONS: Record<MediaKind, IconName> = { image: "image", video: "play", audio: "sound", file: "file" };

/** The files that a message names. Not `settled`: the last path may still grow, so nobody asks for it yet. */
export function MediaChips({ media, settled }: { media: readonly Media[]; settled: boolean }) {
  return (
    <ul className="chat-media">
      {media.map((one, place) => <li key={place}><Chip media={one} ready={settled || place < media.length - 1} />{one.transcript && <span className="t2">{one.transcript}</span>}</li>)}
    </ul>
  );
}

/** What the server would not hand out cannot be pressed and says why; a file that is missing is asked for again later. */
function Chip({ media, ready }: { media: Media; ready: boolean }) {
  const { t } = useTranslation("chat");
  const workspace = useChat((state) => state.workspace);
  const path = workspace === null ? null : pathWithin(workspace, media.path);
  const { data: refusal } = useQuery({
    queryKey: ["media", workspace, path],
    queryFn: () => refusalOf(workspace!, path!),
    enabled: ready && path !== null,
    staleTime: ({ state }) => (state.data ? 0 : Infinity),
  });
  const face = <><Icon name={ICONS[media.kind]} size={12} /><bdi className="clip">{media.name}</bdi></>;
  if (workspace === null || path === null || refusal) {
    const reason = refusal ?? t("media.outside");
    return <span className="chip chat-media-dead" title={reason}>{face}<span className="visually-hidden">{reason}</span></span>;
  }
  return (
    <button type="button" className="chip" title={path} disabled={!ready} aria-haspopup="dialog" aria-label={t("media.open", { kind: t(`media.${media.kind}`), name: media.name })}
      onClick={(event) => showMedia({ media, workspace, path, from: event.currentTarget })}>{face}</button>
  );
}
