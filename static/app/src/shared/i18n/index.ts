/**
 * Two languages, one typed dictionary per feature (`<feature>/i18n/{en,zh}.ts`), loaded as one chunk per language.
 * A missing key falls back to English, then shows the key. i18n.test.ts holds both languages to the same keys.
 */
import i18next from "i18next";
import { initReactI18next } from "react-i18next";
import { storage } from "@/shared/storage";
import type en from "./en";

export type Language = "en-US" | "zh-CN";
export const LANGUAGES: readonly Language[] = ["en-US", "zh-CN"];

declare module "i18next" {
  interface CustomTypeOptions {
    defaultNS: "common";
    resources: typeof en;
  }
}

const short = (language: Language): "en" | "zh" => (language === "zh-CN" ? "zh" : "en");

const load = async (language: "en" | "zh"): Promise<Record<string, object>> =>
  (language === "zh" ? await import("./zh") : await import("./en")).default;

/** The cached choice, else Chinese for a Chinese browser, else English. */
export function firstLanguage(): Language {
  const cached = storage.get("halo_lang");
  const hint = (cached ?? navigator.language).toLowerCase();
  return hint.startsWith("zh") ? "zh-CN" : "en-US";
}

export async function startI18n(): Promise<void> {
  const language = short(firstLanguage());
  const dictionary = await load(language);
  await i18next.use(initReactI18next).init({
    lng: language,
    fallbackLng: "en",
    defaultNS: "common",
    resources: { [language]: dictionary },
    interpolation: { escapeValue: false }, // React escapes
    returnNull: false,
  });
  document.documentElement.lang = language === "zh" ? "zh-CN" : "en";
}

/** Change every visible label at once, without a reload. Saving it for the person is the caller's business. */
export async function setLanguage(language: string): Promise<void> {
  if (!(LANGUAGES as readonly string[]).includes(language)) return;
  const code = short(language as Language);
  if (!i18next.hasResourceBundle(code, "common")) {
    for (const [namespace, words] of Object.entries(await load(code))) i18next.addResourceBundle(code, namespace, words);
  }
  await i18next.changeLanguage(code);
  document.documentElement.lang = language === "zh-CN" ? "zh-CN" : "en";
  storage.set("halo_lang", language);
}

export const currentLanguage = (): Language => (i18next.language === "zh" ? "zh-CN" : "en-US");

/** The same keys with other words; plural forms a language lacks may repeat the one it has. */
export type Same<T> = { [K in keyof T]: T[K] extends string ? string : Same<T[K]> };
