import { request } from "./client";
import type { components } from "./schema.gen";

type Schemas = components["schemas"];
export type Level = Schemas["Access"];
/** `path` is the real path: frames and routes name the workspace by it (`projectId`). */
export type Workspace = Schemas["WorkspaceOut"];
export type KnownWorkspace = Schemas["ListedWorkspace"];
export type Folder = Schemas["FolderOut"];

export const openWorkspace = (path: string) => request<Workspace>("POST", "/fs/workspace/resolve", { body: { path } });

/** A small project made by the server in its home, to try things on; opened like any other folder. */
export const makeSample = () => request<Workspace>("POST", "/fs/sample");

export const listWorkspaces = async () => (await request<Schemas["WorkspacesOut"]>("GET", "/workspaces")).workspaces;

export const homeFolder = async () => (await request<Schemas["HomeOut"]>("GET", "/fs/home")).home;

export const folderExists = (path: string) => request<Schemas["ExistsOut"]>("GET", "/fs/exists", { query: { path } });

/** The folders in `path`; without it those in the home of the server's user. */
export const browse = (path?: string) => request<Folder>("GET", "/fs/browse", { query: { path } });

/** A new folder `name` inside `parent`; `parent` is the absolute path shown in the picker. */
export const makeFolder = (parent: string, name: string) =>
  request<Schemas["MadeOut"]>("POST", "/files/mkdir", { body: { projectId: parent, path: name } });
