import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

/** The tokens of each theme as the browser would see them: blocks apply in file order. */
const css = readFileSync("src/shared/theme/tokens.css", "utf8");
const THEMES = ["dark", "light", "midnight", "warm"] as const;

function tokensOf(theme: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, selectors = "", body = ""] of css.matchAll(/([^{}]+)\{([^}]*)\}/g)) {
    if (!selectors.includes(":root") && !selectors.includes(`data-theme="${theme}"`)) continue;
    for (const [, name = "", value = ""] of body.matchAll(/--([\w-]+):\s*([^;]+);/g)) found[name] = value.trim();
  }
  return found;
}

type Rgba = [number, number, number, number];

function parse(color: string): Rgba {
  const hex = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color);
  if (hex) return [parseInt(hex[1] ?? "", 16), parseInt(hex[2] ?? "", 16), parseInt(hex[3] ?? "", 16), 1];
  const parts = /rgba\(([^)]+)\)/.exec(color)?.[1]?.split(",").map(Number);
  if (parts?.length !== 4) throw new Error(`no colour: ${color}`);
  return parts as Rgba;
}

const over = ([r, g, b, a]: Rgba, [R, G, B]: Rgba): Rgba => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];

const luminance = ([r, g, b]: Rgba): number => {
  const linear = [r, g, b].map((value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * (linear[0] ?? 0) + 0.7152 * (linear[1] ?? 0) + 0.0722 * (linear[2] ?? 0);
};

function contrast(front: Rgba, back: Rgba): number {
  const [a, b] = [luminance(front), luminance(back)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
}

describe.each(THEMES)("the %s theme", (theme) => {
  const tokens = tokensOf(theme);
  const color = (name: string): Rgba => parse(tokens[name] ?? "");
  const grounds = ["bg0", "bg1", "bg2", "bg3"];

  it.each(["t1", "t2", "t3", "accent", "ok", "warn", "err", "rev"])("shows %s readably on every ground", (name) => {
    for (const ground of grounds) expect(contrast(color(name), color(ground)), ground).toBeGreaterThanOrEqual(4.5);
  });
  it("shows the borders of controls", () => {
    for (const ground of grounds) expect(contrast(color("field"), color(ground))).toBeGreaterThanOrEqual(3);
  });
  it("writes readably on its filled buttons", () => {
    expect(contrast(color("on-solid"), color("solid"))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(color("on-solid"), color("solid-h"))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(parse("#ffffff"), color("err-solid"))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(color("count-warn-text"), color("count-warn-bg"))).toBeGreaterThanOrEqual(4.5);
  });
  it.each(["accent", "ok", "warn", "err", "rev"])("writes %s on its own soft fill", (name) => {
    for (const ground of ["bg1", "bg2"]) expect(contrast(color(name), over(color(`${name}-soft`), color(ground)))).toBeGreaterThanOrEqual(4.5);
  });
  it.each(["k", "s", "f", "n", "c"])("shows code colour %s on plain, added and removed lines", (name) => {
    const ground = color("bg1");
    for (const back of [ground, over(color("add-bg"), ground), over(color("del-bg"), ground)]) expect(contrast(color(name), back)).toBeGreaterThanOrEqual(4.5);
  });
});
