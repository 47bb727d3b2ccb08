import { describe, expect, it } from "vitest";

import { changesOf, diffLines, firstLine, outcomeOf, plainOutput, preview, programOf, subjectOf } from "./tools";
import { cachedPercent, clock, count, dayLabel, duration, money } from "./format";

describe("a tool card", () => {
  it("is red or amber by the first line only", () => {
    expect(outcomeOf("Error: this file talks about errors")).toBe("ok");
    expect(outcomeOf("__TOOL_ERROR__\nno such file")).toBe("err");
    expect(outcomeOf("__TOOL_WARN__\nnot unique")).toBe("warn");
    expect(outcomeOf("[interrupted by user]")).toBe("stopped");
    expect(outcomeOf(null)).toBe("run");
    expect(plainOutput("__TOOL_ERROR__\nno such file")).toBe("no such file");
    expect(firstLine("__TOOL_ERROR__\nno such file\nmore")).toBe("no such file");
  });

  it("names what the call is about on one line", () => {
    expect(subjectOf({ name: "shell_exec", input: { command: "pytest\n  -q" } })).toBe("pytest -q");
    expect(subjectOf({ name: "file_list", input: {} })).toBe(".");
    expect(subjectOf({ name: "grep", input: { pattern: "TODO", path: "src" } })).toBe("TODO");
  });

  it("calls a command by its program", () => {
    expect(programOf("cd src && FOO=1 .venv/bin/pytest -q")).toBe("pytest");
    expect(programOf("for i in 1 2; do echo $i; done")).toBe("for i in 1 2; do echo $i; done");
  });

  it("shows the lines an edit takes out and puts in", () => {
    const changes = changesOf({ name: "file_edit", input: { path: "a", old_string: "a\nb\nc\n", new_string: "a\nB\nc\nd\n" } });
    expect(changes.map((change) => change.sign + change.text)).toEqual([" a", "-b", "+B", " c", "+d"]);
    expect(preview(changes, 2).map((change) => change.sign)).toEqual(["-", "+"]);
  });

  it("does not compute a diff that would take long", () => {
    const before = Array.from({ length: 2000 }, (_, n) => `a${n}`);
    const start = performance.now();
    expect(diffLines(before, before.map((line) => `${line}x`))).toHaveLength(4000);
    expect(performance.now() - start).toBeLessThan(500);
  });
});

describe("numbers", () => {
  it("are written as the design says", () => {
    expect([duration(850), duration(1234), duration(41_200), clock(72_000), clock(3_723_000)]).toEqual(["850 ms", "1.2 s", "41 s", "1:12", "1:02:03"]);
    expect([count(412), count(18_400), count(200_000), count(1_500_000)]).toEqual(["412", "18.4k", "200k", "1.5M"]);
    expect([money(20_000, "USD"), money(900, "USD"), money(0, "USD")]).toEqual(["$0.02", "<$0.01", "$0.00"]);
    expect([cachedPercent(8, 92, 0), cachedPercent(5, 0, 0)]).toEqual([92, null]);
  });

  it("name days as people do", () => {
    const now = new Date(2026, 10, 24, 9).getTime();
    expect(dayLabel(now - 3_600_000, now, "en")).toBe("today");
    expect(dayLabel(now - 86_400_000, now, "en")).toBe("yesterday");
    expect(dayLabel(new Date(2026, 10, 16).getTime(), now, "en")).toEqual({ date: "Mon, Nov 16" });
  });
});
