import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

/** Waiting for the whole page: nothing for 150 ms, then the mark, after 3 s the words. */
export function Slow() {
  const { t } = useTranslation("common");
  const [since, setSince] = useState<0 | 1 | 2>(0);
  useEffect(() => {
    const first = window.setTimeout(() => setSince(1), 150);
    const second = window.setTimeout(() => setSince(2), 3000);
    return () => {
      window.clearTimeout(first);
      window.clearTimeout(second);
    };
  }, []);
  return (
    <main className="full-note" aria-busy="true">
      {since > 0 && <span className="halo-mark ring-run slow-mark" />}
      <p className="t3" role="status">{since === 2 ? t("state.stillLoading") : ""}</p>
    </main>
  );
}
