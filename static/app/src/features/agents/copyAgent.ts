/** A new agent with the files of another one. */
import { makeAgent, readMarkdown, readYaml, saveMarkdown, saveYaml, type AgentKey, type AgentRow } from "@/api/agents";
import type { Scope } from "@/api/settings";
import { setText } from "./yamlText";

interface Copy {
  project: string;
  from: AgentKey;
  scope: Scope;
  name: string;
  description: string;
  /** true: name and description of the file stay too, as in a copy that takes the other's place. */
  verbatim: boolean;
}

/** Throws ApiError; when it fails half way the new agent is there with the files written so far. */
export async function copyAgent({ project, from, scope, name, description, verbatim }: Copy): Promise<AgentRow> {
  const [source, texts] = await Promise.all([readYaml(project, from), readMarkdown(project, from)]);
  const { agent } = await makeAgent(project, scope, name, description);
  const key = { id: agent.id, scope };
  const persona = texts["AGENT.md"];
  if (persona?.exists) await saveMarkdown(project, key, "AGENT.md", persona.content);
  const yaml = verbatim ? source.yaml : setText(setText(source.yaml, "description", description), "name", name);
  return (await saveYaml(project, key, yaml)).agent;
}
