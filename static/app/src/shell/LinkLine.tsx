import { useTranslation } from "react-i18next";
import { useTick } from "@/shared/useTick";
import { Ring } from "@/shared/ui/Ring";
import { socket, useLinkStatus } from "@/socket";
import { linkLine } from "./linkWords";

/** One neutral line under the top bar while the link is down; nothing is disabled by it. */
export function LinkLine() {
  const { t } = useTranslation("shell");
  const link = useLinkStatus();
  const now = useTick(link.downSince !== null);
  const line = linkLine(link, now);
  if (line.kind === "none") return null;
  return (
    <div className="link-line" role="status">
      <Ring state="wait" labelled={false} />
      <span>{line.kind === "offline" ? t("offline") : line.seconds === null ? t("reconnectingNow") : t("reconnecting", { n: line.seconds })}</span>
      <span className="grow" />
      <button className="btn tiny" onClick={() => socket.retryNow()}>{t("retryNow")}</button>
    </div>
  );
}
