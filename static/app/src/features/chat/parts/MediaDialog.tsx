import { Modal } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";

import { Icon } from "@/shared/ui/Icon";
import { usePhone } from "@/shared/useMedia";
import { mediaUrl } from "../api";
import { hideMedia, type Shown } from "../shown";

/** One file of a message, as what it is; what a browser cannot show can be downloaded. */
export default function MediaDialog({ shown }: { shown: Shown }) {
  const { t } = useTranslation(["chat", "common"]);
  const phone = usePhone();
  const [open, setOpen] = useState(true);
  const { media, workspace, path, opening, from } = shown;
  const close = (): void => setOpen(false);
  const leave = (): void => {
    hideMedia();
    from.focus();
  };
  return (
    <Modal opened={open} onClose={close} onExitTransitionEnd={leave} returnFocus={false} title={<bdi>{media.name}</bdi>} size="xl" fullScreen={phone} classNames={{ title: "dialog-title" }} closeButtonProps={{ "aria-label": t("common:act.close") }}>
      <div className="chat-media-stage"><Stage shown={shown} /></div>
      <div className="dialog-foot">
        <a className="btn primary" href={mediaUrl(workspace, path, opening, true)} download={media.name} data-autofocus><Icon name="dl" size={14} />{t("media.download")}</a>
      </div>
    </Modal>
  );
}

function Stage({ shown: { media, workspace, path, opening } }: { shown: Shown }) {
  const { t } = useTranslation("chat");
  const [failed, setFailed] = useState(false);
  const source = { src: mediaUrl(workspace, path, opening), onError: () => setFailed(true) };
  if (media.kind === "file") return <p className="t2">{t("media.noPreview")}</p>;
  if (failed) return <p className="t2" role="alert">{t("media.failed")}</p>;
  return (
    <>
      {media.kind === "image" && <img {...source} alt={media.name} />}
      {media.kind === "video" && <video {...source} controls preload="metadata" aria-label={media.name} />}
      {media.kind === "audio" && <audio {...source} controls preload="metadata" aria-label={media.name} />}
      {media.transcript && <p className="t2">{media.transcript}</p>}
    </>
  );
}
