import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

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

/** Over plain http there is no clipboard object: a hidden field does it there. */
export async function copyText(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // refused (no focus, no permission): the old way may still work
  }
  const field = document.createElement("textarea");
  field.value = text;
  field.style.position = "fixed";
  field.style.opacity = "0";
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}
