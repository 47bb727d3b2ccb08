import { describe, expect, it } from "vitest";

import { calloutOf, delegateOf, gist, isShort } from "./callouts";

const from = (kind: string | null, text: string, name = "Helper") => calloutOf({ text, origin: kind === null ? null : { kind, name } });

describe("who a message is from", () => {
  it.each([
    "(from: session s1>c1)\nDone.",
    "[Relay report · workspace /w · session s2 · status: completed]\n\nDone.",
    "[Server restarted] Your run was interrupted.",
  ])("%j typed by a person is a person's message", (text) => expect(from(null, text)).toBeNull());

  it("a chat network's message is a person's", () => expect(from("channel", "hello")).toBeNull());

  it("a sub-agent's report names its session and is done", () => {
    expect(from("report", "(from: session s1>c1)\nFound three.")).toEqual({
      sender: "report", name: "Helper", session: "s1>c1", workspace: null, ending: "done", body: "Found three.",
    });
  });
  it("a sub-agent that was stopped says so", () => {
    expect(from("report", "(from: session s1>c1)\nSUB-AGENT ABORTED: It was stopped.")?.ending).toBe("aborted");
  });
  it("an answer in between is not the result", () => {
    const told = from("report", "(from: session s>c)\n[Sub-agent interim report · session s>c · status: still running] This is an interim reply — wait.\n\nHalf done.");
    expect([told?.sender, told?.ending, told?.body]).toEqual(["interim", "working", "Half done."]);
  });
  it("a relay report leads into the other folder", () => {
    const told = from("report", "[Relay report · workspace /srv/my site · session sid_2 · status: completed]\n\nShipped.", "my site");
    expect(told).toEqual({ sender: "relayReport", name: "my site", session: "sid_2", workspace: "/srv/my site", ending: "done", body: "Shipped." });
  });
  it("a relay target that failed is aborted, one that goes on is working", () => {
    expect(from("report", "[Relay report · workspace /w · session s · status: aborted]\n\nx")?.ending).toBe("aborted");
    const told = from("report", "[Relay interim report · workspace /w · session s · status: still running] This is an interim reply — later.\n\nSoon.");
    expect([told?.sender, told?.ending, told?.body]).toEqual(["relayInterim", "working", "Soon."]);
  });
  it("the task of a sub-agent is from the agent above it", () => {
    expect(from("agent", "(from: session s1)\n[Session s1>c1]\n\nCount the files.", "Lead")).toMatchObject({ sender: "task", name: "Lead", session: "s1", body: "Count the files." });
  });
  it.each(["relay", "cron", "goal", "nudge"])("%s is set apart with its whole text", (kind) => {
    expect(from(kind, "Do it.\nNow.")).toMatchObject({ sender: kind, body: "Do it.\nNow." });
  });
  it("a skill's text stands behind its command", () => {
    expect(from(null, "[Skill activated: /greet]\n\nBow.")).toMatchObject({ sender: "skill", name: "/greet", body: "Bow." });
  });
});

describe("a body", () => {
  it("of a few lines stands open, a long one is folded", () => {
    expect(isShort("One line.")).toBe(true);
    expect(isShort("a\n".repeat(9))).toBe(false);
    expect(isShort("a".repeat(400))).toBe(false);
  });
  it("begins with its first words", () => expect(gist("\n## **Result**\n\nThree.")).toBe("Result"));
});

describe("the session of a delegation", () => {
  const tool = (name: string, output: string | null, input = {}) => delegateOf({ name, input, output });
  it("is what start_session answers", () => expect(tool("start_session", '{"code":0,"session_id":"s>c"}')).toEqual({ session: "s>c", workspace: null }));
  it("is the one a message went to", () => expect(tool("query_session", '{"code":0}', { target_session_id: "s>c" })?.session).toBe("s>c"));
  it("of a relay lies in its workspace", () => {
    expect(tool("relay_send", '{"code":0,"session_id":"x"}', { workspace: "/w" })).toEqual({ session: "x", workspace: "/w" });
  });
  it("is none when it was refused, cut, still runs or is no delegation", () => {
    expect(tool("start_session", '{"code":1,"error":"no"}')).toBeNull();
    expect(tool("start_session", '{"code":0,"sess')).toBeNull();
    expect(tool("start_session", null)).toBeNull();
    expect(tool("shell_exec", '{"code":0,"session_id":"s"}')).toBeNull();
  });
});
