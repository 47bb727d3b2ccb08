/** Which addresses of a message may be followed, and what a person is told about them. Pure. */

const ALLOWED = new Set(["http:", "https:", "mailto:"]);

/** The address, normalised, when its scheme is http, https or mailto; else null. Control characters hide nothing. */
export function safeHref(raw: string): string | null {
  // Browsers drop tab and line breaks inside an address; the check must see what they see.
  const cleaned = [...raw].filter((char) => char.charCodeAt(0) > 0x20 || char === " ").join("").trim();
  if (!/^[a-z][a-z0-9+.-]*:/i.test(cleaned)) return null; // relative: there is no page behind it
  try {
    const parsed = new URL(cleaned);
    return ALLOWED.has(parsed.protocol) ? parsed.href : null;
  } catch {
    return null;
  }
}

/** The host as the network will see it (punycode, no user-info), for tooltips and image chips. */
export function hostOf(href: string): string {
  try {
    const parsed = new URL(href);
    return parsed.protocol === "mailto:" ? parsed.pathname : parsed.host;
  } catch {
    return "";
  }
}
