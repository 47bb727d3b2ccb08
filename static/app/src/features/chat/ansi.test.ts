import { describe, expect, it } from "vitest";
import { pieces, stripAnsi } from "./ansi";

describe("output of a terminal", () => {
  it("keeps its colours and nothing else of an escape", () => {
    expect(pieces("a \x1b[1;31mred\x1b[0m \x1b[38;5;201mpink\x1b[39m \x1b[2Kend\x1b]0;title\x07")).toEqual([
      { text: "a ", ink: null, bold: false }, { text: "red", ink: "red", bold: true }, { text: " pink end", ink: null, bold: false },
    ]);
    expect(stripAnsi("\x1b[32m✓\x1b[39m ok \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b(B")).toBe("✓ ok link ");
  });

  it("shows a line that was written over as it stood at its end", () => {
    expect(stripAnsi("10 %\r20 %\r\ndone\r\n")).toBe("20 %\ndone\n");
    expect(stripAnsi("10 %\r99 %")).toBe("99 %");
    expect(stripAnsi("ab\x08c")).toBe("ac");
  });

  it("drops an escape that was cut in two by the end of the text", () => {
    expect([stripAnsi("a\x1b"), stripAnsi("a\x1b["), stripAnsi("a\x1b[3"), stripAnsi("a\x1b]0;ti")]).toEqual(["a", "a", "a", "a"]);
  });

  it("leaves plain text as it is, without looking at each character", () => {
    const long = "x".repeat(200_000);
    expect(pieces(long)).toEqual([{ text: long, ink: null, bold: false }]);
    const start = performance.now();
    pieces("\x1b[".repeat(20_000));
    expect(performance.now() - start).toBeLessThan(500);
  });
});
