import { Modal } from "@mantine/core";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { refreshAuth, useAuth } from "@/shared/auth";
import { LoginForm } from "./LoginForm";
import "./login.css";

/** Over the page, not instead of it: what was typed stays. Another user must reload, for the page shows the first one's work. */
export function SignedOutDialog() {
  const { t } = useTranslation("login");
  const phase = useAuth((state) => state.phase);
  const [other, setOther] = useState<{ username: string; before: string } | null>(null);

  const done = async () => {
    const before = useAuth.getState().user?.username;
    await refreshAuth();
    const now = useAuth.getState().user?.username;
    if (before && now && before !== now) setOther({ username: now, before });
  };

  return (
    <Modal opened={phase === "expired" || other !== null} onClose={() => undefined} withCloseButton={false} closeOnEscape={false} closeOnClickOutside={false}
      title={t("expiredTitle")} size={400} classNames={{ title: "dialog-title" }}>
      {other ? (
        <>
          <p className="t2">{t("otherUser", other)}</p>
          <button className="btn primary large" onClick={() => window.location.reload()}>{t("reload")}</button>
        </>
      ) : (
        <>
          <p className="t2 login-expired">{t("expiredText")}</p>
          <LoginForm onDone={done} />
        </>
      )}
    </Modal>
  );
}
