/** Where code begins and ends in Markdown, line by line. Pure. */

const FENCE = /^( {0,3})(`{3,}|~{3,})(.*)$/;

export interface Fence {
  indent: string;
  mark: string;
  info: string;
}

/** The fence that this line opens, outside of any other. */
export function opensFence(line: string): Fence | null {
  const found = FENCE.exec(line) as [string, string, string, string] | null;
  if (!found) return null;
  const [, indent, mark, info] = found;
  return mark.startsWith("`") && info.includes("`") ? null : { indent, mark, info };
}

export const closesFence = (line: string, mark: string): boolean => {
  const text = line.replace(/^ {0,3}/, "").trimEnd();
  return text.length >= mark.length && text === mark[0]!.repeat(text.length);
};
