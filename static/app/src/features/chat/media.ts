/**
 * Files that a message names on a line of its own: what channels saved of an incoming message, and `MEDIA:` lines of
 * agents. Pure.
 */
import { closesFence, opensFence } from "./markdown/fence";

export type MediaKind = "image" | "video" | "audio" | "file";

export interface Media {
  kind: MediaKind;
  path: string; // as the message has it
  name: string;
  transcript: string; // of a voice message; "" = none
}

/** What a browser shows, by suffix; the server names these types (workspaces_app/files/types.py). */
const SUFFIXES: Record<Exclude<MediaKind, "file">, RegExp> = {
  image: /\.(?:png|jpe?g|gif|webp|bmp|svg|ico|avif)$/i,
  video: /\.(?:mp4|webm|mov)$/i,
  audio: /\.(?:ogg|mp3|wav|flac|aac|m4a)$/i,
};

/** null: the suffix says what it is. Channels write a space before 已保存, or none, and either colon. */
const FORMS: readonly (readonly [MediaKind | null, RegExp])[] = [
  ["image", /^\[图片 ?已保存[:：]\s*(?<path>\S.*)\]$/],
  ["video", /^\[视频(?:消息)?(?: [\d.]+s)? ?已保存[:：]\s*(?<path>\S.*)\]$/],
  ["audio", /^\[语音(?:消息)?(?: [\d.]+s)? ?已保存[:：]\s*(?<path>\S.*?)(?:\s*[,，]\s*服务端转写[:：]\s*(?<transcript>.*))?\]$/],
  [null, /^\[文件 "(?<name>.*)" ?已保存[:：]\s*(?<path>\S.*)\]$/],
  [null, /^MEDIA:[ \t]*(?<path>\/.*)$/], // the marker is an absolute path; anything else is a word of the agent
];

const kindOf = (path: string): MediaKind => (Object.keys(SUFFIXES) as (keyof typeof SUFFIXES)[]).find((kind) => SUFFIXES[kind].test(path)) ?? "file";

/** The last part of a path. */
export const nameOf = (path: string): string => path.split("/").filter(Boolean).at(-1) ?? path;

/** A picture that is known by its path alone. */
export const pictureAt = (path: string): Media => ({ kind: "image", path, name: nameOf(path), transcript: "" });

/** The file that this line is a marker of. null: the line is text, as with anything before or behind the marker. */
export function mediaOf(line: string): Media | null {
  if (!line.startsWith("[") && !line.startsWith("MEDIA:")) return null;
  for (const [kind, form] of FORMS) {
    const found = form.exec(line.trimEnd())?.groups;
    if (!found) continue;
    const path = found.path!.trimEnd();
    return { kind: kind ?? kindOf(path), path, name: found.name || nameOf(path), transcript: found.transcript?.trim() ?? "" };
  }
  return null;
}

/** Plain text without its markers, and the files in their order, each once. Markers in code stay what they are. */
export function takeMedia(text: string): { own: string; media: Media[] } {
  const own: string[] = [];
  const media = new Map<string, Media>();
  let mark = "";
  for (const line of text.split(/\r\n?|\n/)) {
    const found = mark === "" ? mediaOf(line) : null;
    if (found) {
      media.set(found.path, found);
      continue;
    }
    if (mark === "") mark = opensFence(line)?.mark ?? "";
    else if (closesFence(line, mark)) mark = "";
    own.push(line);
  }
  return media.size === 0 ? { own: text, media: [] } : { own: own.join("\n").replace(/^\n+|\n+$/g, ""), media: [...media.values()] };
}

/** The path below the workspace; null when it leads out of it, or is the workspace. Links are the server's to judge. */
export function pathWithin(workspace: string, path: string): string | null {
  const root = workspace.split("/").filter(Boolean);
  const full: string[] = path.startsWith("/") ? [] : [...root];
  for (const part of path.split("/")) {
    if (part === "..") full.pop();
    else if (part !== "" && part !== ".") full.push(part);
  }
  const inside = full.length > root.length && root.every((part, place) => part === full[place]);
  return inside ? full.slice(root.length).join("/") : null;
}
