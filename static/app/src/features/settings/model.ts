/** Pure: grouping, searching and checking of settings. */
import type { Provider, Scope, SettingField, SettingSection, SettingValue } from "@/api/settings";

const PARTS = ["agent", "session", "sandbox", "outbound", "compact", "relay", "evolution", "limits", "server", "logging"] as const;
export type Part = (typeof PARTS)[number] | "other";

const partOf = (key: string): Part => PARTS.find((part) => key.startsWith(`${part}.`)) ?? "other";

export interface Group {
  id: string;
  part: Part;
  fields: SettingField[];
}

/** The general fields by their first word, in a fixed order; theme and language have a page of their own. */
export function generalGroups(section: SettingSection | undefined): Group[] {
  const fields = (section?.fields ?? []).filter((field) => field.key !== "theme" && field.key !== "language");
  return [...PARTS, "other" as const]
    .map((part) => ({ id: `general.${part}`, part, fields: fields.filter((field) => partOf(field.key) === part) }))
    .filter((group) => group.fields.length > 0);
}

export const textOf = (field: SettingField, chinese: boolean): string => (chinese && field.descriptionZh ? field.descriptionZh : field.description);

/** A name a person can read, from the last part of the key: `max_retries` -> "Max retries". */
export function nameOf(field: SettingField): string {
  const last = field.key.split(".").at(-1) ?? field.key;
  const words = last.replaceAll("_", " ");
  const name = words.charAt(0).toUpperCase() + words.slice(1);
  return name.replace(/\b(api|id|url)\b/gi, (word) => word.toUpperCase());
}

export const matchesSearch = (field: SettingField, text: string, section = ""): boolean => {
  const wanted = text.trim().toLowerCase();
  return [field.key, nameOf(field), field.description, field.descriptionZh, section].some((place) => place.toLowerCase().includes(wanted));
};

export type SourceChip = "workspace" | "global" | "inherited" | "default";

/** Where the shown value comes from, seen from the scope that is shown. */
export function sourceOf(field: SettingField, scope: Scope): SourceChip {
  if (field.source === "workspace") return "workspace";
  if (field.source === "global") return scope === "workspace" && !field.globalOnly ? "inherited" : "global";
  return "default";
}

/** Reset is offered where this scope itself holds the value. */
export const mayReset = (field: SettingField, scope: Scope): boolean => field.hasValue && field.source === scope;

export type Refusal = { kind: "number" } | { kind: "whole" } | { kind: "range"; low: number; high: number };

/** Text of an input as the value to send, or why not. Empty = null = unset. */
export function readInput(field: SettingField, text: string): { value: SettingValue } | { refused: Refusal } {
  const trimmed = text.trim();
  if (field.type === "list") return { value: trimmed ? trimmed.split(/[,，]/).map((item) => item.trim()).filter(Boolean) : null };
  if (trimmed === "") return { value: null };
  if (field.type !== "int" && field.type !== "float") return { value: text };
  const number = Number(trimmed);
  if (!Number.isFinite(number)) return { refused: { kind: "number" } };
  if (field.type === "int" && !Number.isInteger(number)) return { refused: { kind: "whole" } };
  const low = field.min ?? -Infinity;
  const high = field.max ?? Infinity;
  return number < low || number > high ? { refused: { kind: "range", low, high } } : { value: number };
}

/** What stands in an input: the value, else the default. */
export function shown(field: SettingField): string {
  const value = field.value ?? field.default ?? "";
  return Array.isArray(value) ? value.join(", ") : String(value);
}

/** Rules of a new password, in the order they are shown. */
export const passwordRules = (old: string, wanted: string, again: string) => ({
  length: wanted.length >= 8,
  letter: /\p{L}/u.test(wanted),
  digit: /\d/.test(wanted),
  differs: wanted !== "" && wanted !== old,
  matches: wanted !== "" && wanted === again,
});

export const nameIn = (provider: Provider, chinese: boolean): string => (chinese && provider.displayName_zh) || provider.displayName || provider.id;

/** Why a value cannot be changed now; null = it can. */
export type Lock = "global" | "owner" | "level" | "broken" | null;

interface Reader {
  superuser: boolean;
  /** Of the person in this workspace; null = no limit. */
  level: string | null;
}

export function lockOf(field: SettingField, scope: Scope, faults: readonly { scope: string }[], who: Reader): Lock {
  if (faults.some((fault) => fault.scope === scope)) return "broken";
  if (scope === "global") return who.superuser ? null : "owner";
  if (field.globalOnly) return who.superuser ? "global" : "owner";
  return who.level && who.level !== "full" ? "level" : null;
}
