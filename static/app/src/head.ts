/**
 * Runs before the style sheet, as a plain blocking script of its own (inline scripts are forbidden by the CSP):
 * puts theme and language of the last visit on <html>, so nothing flashes. Imports nothing.
 */
(() => {
  const read = (key: string): string | null => {
    try {
      return localStorage.getItem(key);
    } catch {
      return null; // storage switched off: defaults
    }
  };
  const root = document.documentElement;
  const wish = read("halo_theme") ?? "dark";
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const theme = wish === "system" ? (dark ? "dark" : "light") : wish;
  root.dataset.theme = ["dark", "light", "midnight", "warm"].includes(theme) ? theme : "dark";
  root.setAttribute("data-mantine-color-scheme", theme === "light" || theme === "warm" ? "light" : "dark");
  const cached = read("halo_lang");
  const zh = cached ? cached.startsWith("zh") : navigator.language.toLowerCase().startsWith("zh");
  root.lang = zh ? "zh-CN" : "en";
})();
