import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

import { copyText } from "@/shared/copy";
import { Icon } from "@/shared/ui/Icon";

/** Copies `text`; a tick for two seconds says that it did, the alert sign that the browser refused. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const { t } = useTranslation("chat");
  const [state, setState] = useState<"idle" | "done" | "failed">("idle");
  useEffect(() => {
    if (state === "idle") return undefined;
    const timer = window.setTimeout(() => setState("idle"), 2000);
    return () => window.clearTimeout(timer);
  }, [state]);
  const copy = (): void => {
    void copyText(text).then((ok) => setState(ok ? "done" : "failed"));
  };
  const words = state === "done" ? t("copied") : state === "failed" ? t("copyFailed") : label;
  return (
    <button type="button" className="icon-btn small" onClick={copy} title={words} aria-label={words}>
      <Icon name={state === "done" ? "check" : state === "failed" ? "alert" : "copy"} size={14} />
    </button>
  );
}
