import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "@/shared/theme/fonts.css";
import "@/shared/theme/tokens.css";
import "@/shared/theme/base.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { startI18n } from "@/shared/i18n";
import { startKeys } from "@/shared/keys/actions";
import { tabStorage } from "@/shared/storage";
import { watchSystemTheme } from "@/shared/theme/store";
import { App } from "@/shell/App";

/** After an upgrade of the server the files this page knows are gone: load it anew, once; drafts are kept. */
window.addEventListener("vite:preloadError", (event) => {
  const last = Number(tabStorage.get("halo_reloaded") ?? 0);
  if (Date.now() - last < 60_000) return; // it did not help: let the error be seen
  tabStorage.set("halo_reloaded", String(Date.now()));
  event.preventDefault();
  window.location.reload();
});

await startI18n();
watchSystemTheme();
startKeys();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
