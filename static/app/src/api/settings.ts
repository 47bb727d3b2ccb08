import { request } from "./client";
import type { components } from "./schema.gen";

type Schemas = components["schemas"];

export type Scope = "global" | "workspace";
export type SettingField = Schemas["FieldOut"];
export type SettingSection = Schemas["SectionOut"];
export type SettingsSchema = Schemas["SchemaOut"];
export type SettingValue = SettingField["value"];
export type ConnectionReport = Schemas["ReportOut"];

export interface ModelChoice {
  id: string;
  displayName: string;
  contextWindow?: number;
}

/** A registry entry: keys as in the provider's file. */
export interface Provider {
  id: string;
  family: string;
  displayName: string;
  displayName_zh: string;
  description: string;
  description_zh: string;
  defaultEndpoint: string;
  endpointPresets: string[];
  defaultModelId: string;
  secrets: { key: string; description: string; description_zh: string; optional?: boolean }[];
  models: ModelChoice[];
  suggestions: string[];
  suggestions_zh: string[];
  /** Every secret it asks for is stored, or it asks for none. */
  hasKey: boolean;
}

export interface Providers {
  providers: Provider[];
  broken: { file: string; error: string }[];
  /** What the agent of new sessions runs; null = that agent cannot be read. */
  current: Schemas["CurrentOut"] | null;
}

export interface ModelWish {
  provider: string;
  model: string;
  endpoint: string;
  /** By the names of the provider's file; absent = keep what is stored. */
  secrets?: Record<string, string>;
}

const place = (scope: Scope, projectId: string) => ({ scope, projectId: scope === "workspace" ? projectId : null });

export const settingsSchema = (projectId: string | null) => request<SettingsSchema>("GET", "/settings/schema", { query: { projectId } });

export const setSetting = (scope: Scope, projectId: string, key: string, value: SettingValue) =>
  request<Schemas["Ok"]>("PATCH", "/settings", { body: { ...place(scope, projectId), key, value } });

export const resetSetting = (scope: Scope, projectId: string, key: string) =>
  request<Schemas["Ok"]>("DELETE", "/settings", { body: { ...place(scope, projectId), key } });

export const listProviders = (projectId: string) => request<Providers>("GET", "/settings/providers", { query: { projectId } });

export const testProvider = (projectId: string, wish: ModelWish) =>
  request<ConnectionReport>("POST", `/settings/providers/${encodeURIComponent(wish.provider)}/test`, {
    body: { projectId, model: wish.model, endpoint: wish.endpoint, secrets: wish.secrets ?? {} },
  });

export const bindModel = (projectId: string, wish: ModelWish) =>
  request<Schemas["BoundOut"]>("PUT", "/settings/model", {
    body: { projectId, provider: wish.provider, model: wish.model, endpoint: wish.endpoint, secrets: wish.secrets ?? {} },
  });
