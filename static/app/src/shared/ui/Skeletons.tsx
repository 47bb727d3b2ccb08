import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";

/** Rows of the final height while a list loads: nothing for 150 ms, and after three seconds a word. */
export function Skeletons({ rows, height }: { rows: number; height: number }) {
  const { t } = useTranslation("common");
  const [since, setSince] = useState(0);
  useEffect(() => {
    const timers = [window.setTimeout(() => setSince(1), 150), window.setTimeout(() => setSince(2), 3000)];
    return () => timers.forEach((timer) => window.clearTimeout(timer));
  }, []);
  if (since === 0) return null;
  return (
    <div aria-busy="true">
      {Array.from({ length: rows }, (_, index) => <div key={index} className="skeleton" style={{ height }} />)}
      {since === 2 && <p className="side-note t3 sm" role="status">{t("state.stillLoading")}</p>}
    </div>
  );
}
