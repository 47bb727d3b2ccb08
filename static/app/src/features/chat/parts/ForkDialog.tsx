import { Modal } from "@mantine/core";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { errorText } from "@/api/client";
import { Icon } from "@/shared/ui/Icon";
import { gist } from "../callouts";
import { busy } from "../model";
import { cancelFork, fork, useChat, viewOf } from "../store";

/** Says what a fork takes along and what stays, before it is made. */
export function ForkDialog() {
  const { t } = useTranslation(["chat", "common"]);
  const forking = useChat((state) => state.forking);
  const running = useChat((state) => (state.forking ? busy(viewOf(state, state.forking.sessionId)) : false));
  const [going, setGoing] = useState(false);
  const [error, setError] = useState<string | null>(null);
  useEffect(() => setError(null), [forking]);
  const go = async (): Promise<void> => {
    if (!forking || going) return;
    setGoing(true);
    setError(null);
    try {
      await fork(forking);
    } catch (cause) {
      setError(errorText(cause));
    }
    setGoing(false);
  };
  return (
    <Modal opened={forking !== null} onClose={cancelFork} title={t("fork.title")} size={480} classNames={{ title: "dialog-title" }} closeButtonProps={{ "aria-label": t("common:act.close") }}>
      {forking && (
        <>
          <p className="chat-fork-words clip">{gist(forking.words)}</p>
          <ul className="chat-fork-list t2">
            <li><Icon name="copy" size={14} /><span>{t("fork.copied")}</span></li>
            <li><Icon name="folder" size={14} /><span>{t("fork.files")}</span></li>
            <li><Icon name="chat" size={14} /><span>{t("fork.stays")}</span></li>
          </ul>
          {error !== null && <p className="err sm" role="alert">{error}</p>}
          {running && <p className="t3 sm" role="status">{t("fork.running")}</p>}
          <div className="dialog-foot">
            <button type="button" className="btn" onClick={cancelFork}>{t("common:act.cancel")}</button>
            <button type="button" className="btn primary" data-autofocus disabled={going || running} onClick={() => void go()}>{t("fork.button")}</button>
          </div>
        </>
      )}
    </Modal>
  );
}
