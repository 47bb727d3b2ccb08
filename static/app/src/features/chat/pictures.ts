/** Which pictures of the workspace a run of tool calls looked at. Pure. */
import type { ToolItem } from "./model";

/** Paths, relative to the workspace, each once; calls that were refused or still run show nothing. */
export function picturesOf(items: readonly Pick<ToolItem, "name" | "input" | "output">[]): string[] {
  const paths = items.flatMap(({ name, input, output }) =>
    name === "view_image" && output !== null && output.startsWith("Image loaded: ") && typeof input.path === "string" ? [input.path] : [],
  );
  return [...new Set(paths)].filter((path) => path !== "" && !path.startsWith("/") && !path.split("/").includes(".."));
}
