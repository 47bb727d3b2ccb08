import { request } from "./client";
import type { components } from "./schema.gen";
import type { Scope } from "./settings";

type Schemas = components["schemas"];
export type SkillRow = Schemas["SkillOut"];

export interface SkillKey {
  id: string;
  scope: Scope;
}

const at = (key: SkillKey) => `/skills/${encodeURIComponent(key.id)}`;

export const listSkills = async (projectId: string) => (await request<Schemas["SkillsOut"]>("GET", "/skills", { query: { projectId } })).skills;

export const readSkillText = (projectId: string, key: SkillKey) => request<Schemas["SkillTextOut"]>("GET", `${at(key)}/md`, { query: { projectId, scope: key.scope } });

/** The server reads the text before it is stored; what could not load is refused with its line. */
export const saveSkillText = (projectId: string, key: SkillKey, content: string) =>
  request<Schemas["CreatedOut"]>("PUT", `${at(key)}/md`, { body: { projectId, scope: key.scope, content } });

export const makeSkill = (projectId: string, scope: Scope, name: string, description: string, command: string) =>
  request<Schemas["CreatedOut"]>("POST", "/skills", { body: { projectId, scope, name, description, command } });

export const deleteSkill = (projectId: string, key: SkillKey) => request<Schemas["DoneOut"]>("DELETE", at(key), { query: { projectId, scope: key.scope } });

/** Off when it was on, on when it was off, in this workspace only. */
export const toggleSkill = (projectId: string, key: SkillKey) => request<Schemas["ToggledOut"]>("PATCH", `${at(key)}/toggle`, { query: { projectId, scope: key.scope } });
