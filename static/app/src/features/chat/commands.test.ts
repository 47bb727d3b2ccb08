import { describe, expect, it } from "vitest";
import type { Command } from "@/api/commands";
import { allChoices, completions, parseLine } from "./commands";

const verb = (name: string, desc = "", builtin = true) => ({ name, desc, builtin, requiresAccess: null });
const command = (name: string, verbs: Command["verbs"] = [], argHint = ""): Command => ({
  name, slashName: `/${name}`, description: `About ${name}`, type: "server", argHint, source: "builtin", skillId: null, verbs, requiresAccess: null,
});
const COMMANDS = [command("help"), command("session", [verb("list", "List: list [text]"), verb("switch", "switch <n>"), verb("stop", "Stop")], "<verb>")];
const CLEAR = [{ text: "/clear", about: "New", open: false }];
const texts = (typed: string) => completions(typed, COMMANDS, CLEAR).map((choice) => choice.text);

describe("slash commands", () => {
  it("are a name and the rest of the line; a path is a message", () => {
    expect(parseLine("/session  list a b")).toEqual({ name: "session", rest: "list a b" });
    expect(parseLine("/help ")).toEqual({ name: "help", rest: "" });
    expect(parseLine("/notes draft\nsecond line")).toEqual({ name: "notes", rest: "draft\nsecond line" });
    for (const message of ["/etc/hosts", "/", "hello /help", "/a.txt is here", "// x"]) expect(parseLine(message)).toBeNull();
  });

  it("are completed by name, then by verb", () => {
    expect(texts("/")).toEqual(["/clear", "/help", "/session"]);
    expect(texts("/se")).toEqual(["/session"]);
    expect(texts("/session ")).toEqual(["/session list", "/session switch", "/session stop"]);
    expect(texts("/session s")).toEqual(["/session switch", "/session stop"]);
    expect(texts("/session list x")).toEqual([]);
    expect(texts("hello")).toEqual([]);
  });

  it("say whether something is still to be typed", () => {
    const open = Object.fromEntries(allChoices(COMMANDS).map((choice) => [choice.text, choice.open]));
    expect(open).toEqual({ "/help": false, "/session list": true, "/session switch": true, "/session stop": false });
    expect(completions("/s", COMMANDS, CLEAR)[0]!.open).toBe(true);
  });
});
