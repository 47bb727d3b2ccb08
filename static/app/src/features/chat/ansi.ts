/** Output of a terminal as a card shows it: colours kept, cursor tricks resolved or dropped. Pure. */
export type Ink = "red" | "green" | "yellow" | "blue" | "magenta" | "cyan" | "grey";

export interface Piece {
  text: string;
  ink: Ink | null;
  bold: boolean;
}

const INKS: readonly (Ink | null)[] = ["grey", "red", "green", "yellow", "blue", "magenta", "cyan", null];
// Everything an escape begins: colours (kept), other CSI, OSC titles and links, two-byte sequences, and a cut-off rest.
const ESCAPE = /\x1b(?:\[([0-9;:]*)m|\[[0-?]*[ -/]*(?:[@-~]|$)|\][^\x07\x1b]*(?:\x07|\x1b\\|$)|[PX^_][^\x1b]*(?:\x1b\\|$)|[ -/]*[0-OQ-WYZ\\`a-~]|)/g;

/** A line that was written over (`10 %\r20 %\r`) as it stood at its end. */
function overwritten(line: string): string {
  if (!line.includes("\r")) return line;
  const parts = line.split("\r");
  const last = parts.at(-1) === "" ? parts.length - 2 : parts.length - 1;
  return parts[Math.max(0, last)] ?? "";
}

const settled = (text: string): string =>
  text.includes("\r") || text.includes("\b")
    ? text.replace(/\r+\n/g, "\n").split("\n").map(overwritten).join("\n").replace(/[^\n]\x08/g, "").replace(/\x08/g, "")
    : text;

/** Plain text, for copying, searching and counting lines. */
export const stripAnsi = (text: string): string => settled(text.includes("\x1b") ? text.replace(ESCAPE, "") : text);

/** The text in pieces of one colour each. */
export function pieces(text: string): Piece[] {
  if (!text.includes("\x1b")) return [{ text: settled(text), ink: null, bold: false }];
  const found: Piece[] = [];
  let ink: Ink | null = null;
  let bold = false;
  let at = 0;
  const keep = (part: string) => {
    if (part === "") return;
    const last = found.at(-1);
    if (last && last.ink === ink && last.bold === bold) last.text += part;
    else found.push({ text: part, ink, bold });
  };
  const whole = settled(text);
  for (const match of whole.matchAll(ESCAPE)) {
    keep(whole.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[1] !== undefined) [ink, bold] = styled(match[1], ink, bold);
  }
  keep(whole.slice(at));
  return found;
}

function styled(codes: string, ink: Ink | null, bold: boolean): [Ink | null, boolean] {
  const numbers = codes.split(/[;:]/).map(Number);
  for (let place = 0; place < numbers.length; place += 1) {
    const code = numbers[place]!;
    if (code === 0) [ink, bold] = [null, false];
    else if (code === 1) bold = true;
    else if (code === 22) bold = false;
    else if (code === 39) ink = null;
    else if (code >= 30 && code <= 37) ink = INKS[code - 30]!;
    else if (code >= 90 && code <= 97) ink = INKS[code - 90]!;
    else if (code === 38 || code === 48) place += numbers[place + 1] === 5 ? 2 : 4; // 256 colours and RGB: in our own colour
  }
  return [ink, bold];
}
