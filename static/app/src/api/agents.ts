import { request } from "./client";
import type { components } from "./schema.gen";
import type { Scope } from "./settings";

type Schemas = components["schemas"];
export type AgentRow = Schemas["AgentOut"];
export type AgentYaml = Schemas["YamlOut"];
export type MdFile = Schemas["MdOut"];
export type ShownPrompt = Schemas["PromptOut"];
export type ToolRow = Schemas["ToolOut"];
export type Access = Schemas["Access"];

/** One of two agents of the same id: which scope, seen from which workspace. */
export interface AgentKey {
  id: string;
  scope: Scope;
}

const at = (key: AgentKey) => `/agent-configs/${encodeURIComponent(key.id)}`;

export const listAgentRows = async (projectId: string) => (await request<Schemas["AgentsOut"]>("GET", "/agent-configs", { query: { projectId } })).agents;

export const listTools = async () => (await request<Schemas["ToolsOut"]>("GET", "/agent-configs/tools")).tools;

export const readYaml = (projectId: string, key: AgentKey) => request<AgentYaml>("GET", `${at(key)}/yaml`, { query: { projectId, scope: key.scope } });

/** Throws ApiError; when the text is at fault its `body.line` is the line, from 1. */
export const saveYaml = (projectId: string, key: AgentKey, yaml: string) =>
  request<Schemas["SavedOut"]>("PUT", `${at(key)}/yaml`, { body: { projectId, scope: key.scope, yaml } });

export const makeAgent = (projectId: string, scope: Scope, name: string, description: string) =>
  request<Schemas["NewOut"]>("POST", "/agent-configs", { body: { projectId, scope, name, description } });

export const deleteAgent = (projectId: string, key: AgentKey) => request<Schemas["DoneOut"]>("DELETE", at(key), { query: { projectId, scope: key.scope } });

/** Off when it was on, on when it was off, in this workspace only. */
export const toggleAgent = (projectId: string, key: AgentKey) => request<Schemas["ToggledOut"]>("PATCH", `${at(key)}/toggle`, { query: { projectId, scope: key.scope } });

export const readMarkdown = async (projectId: string, key: AgentKey) =>
  (await request<Schemas["MdAllOut"]>("GET", `${at(key)}/md-all`, { query: { projectId, scope: key.scope } })).files;

export const saveMarkdown = (projectId: string, key: AgentKey, file: string, content: string) =>
  request<Schemas["WrittenOut"]>("PUT", `${at(key)}/md/${encodeURIComponent(file)}`, { body: { projectId, scope: key.scope, content } });

/** What a session of this agent that starts now would get; the agent that serves the id, whatever scope it is of. */
export const showPrompt = (projectId: string, id: string, level: Access, child: boolean) =>
  request<ShownPrompt>("GET", `/agent-configs/${encodeURIComponent(id)}/prompt`, { query: { projectId, level, child } });

export type McpServer = Schemas["McpServerOut"];
export type McpState = Schemas["McpStateOut"];

/** The MCP servers that the agent which serves the id lists, and how they are for each level. */
export const listServers = async (projectId: string, id: string) =>
  (await request<Schemas["McpServersOut"]>("GET", `/agent-configs/${encodeURIComponent(id)}/mcp`, { query: { projectId } })).servers;
