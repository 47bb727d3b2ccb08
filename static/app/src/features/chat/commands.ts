/** Slash commands as they are typed: pure. The server decides what each does (`GET /api/commands`, `command:*`). */
import type { Command } from "@/api/commands";

export interface Choice {
  text: string;
  about: string;
  /** Something is still to be typed behind it. */
  open: boolean;
}

/** A line that is a command: `/name`, then anything. A path such as `/etc/hosts` is a message. */
export function parseLine(text: string): { name: string; rest: string } | null {
  const found = /^\/([\w-]+)(?:\s+([\s\S]*))?$/.exec(text.trim());
  return found ? { name: found[1]!, rest: (found[2] ?? "").trim() } : null;
}

/** `list [text]`, `switch <n>`: what a text says must or may follow. */
const wantsMore = (about: string): boolean => /[<[]/.test(about);

/** Every line that can be run: commands without verbs, and each verb of the others. */
export function allChoices(commands: readonly Command[]): Choice[] {
  return commands.flatMap((command): Choice[] =>
    command.verbs.length === 0
      ? [{ text: command.slashName, about: command.description, open: command.argHint !== "" }]
      : command.verbs.map((verb) => ({ text: `${command.slashName} ${verb.name}`, about: verb.desc, open: wantsMore(verb.desc) || !verb.builtin })),
  );
}

/** What fits what was typed so far: commands while the first word is typed, then the verbs of that one. */
export function completions(typed: string, commands: readonly Command[], local: readonly Choice[]): Choice[] {
  if (!/^\/\S*( \S*)?$/.test(typed)) return [];
  if (typed.includes(" ")) return allChoices(commands).filter((choice) => choice.text.startsWith(typed));
  const heads = commands.map((command) => ({ text: command.slashName, about: command.description, open: command.verbs.length > 0 || command.argHint !== "" }));
  return [...local, ...heads].filter((choice) => choice.text.startsWith(typed)).sort((a, b) => (a.text < b.text ? -1 : 1));
}
