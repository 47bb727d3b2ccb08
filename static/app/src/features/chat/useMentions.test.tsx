import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { useMentions, type Mentions } from "./useMentions";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let asked: URL[] = [];
let end: (() => void) | null = null;

beforeEach(() => {
  asked = [];
  localStorage.clear();
  vi.stubGlobal("fetch", (path: string) => {
    const url = new URL(path, "http://localhost");
    asked.push(url);
    const matches = [{ name: "a.ts", path: `found/${url.searchParams.get("q")}.ts` }];
    return Promise.resolve(new Response(JSON.stringify({ matches, truncated: false })));
  });
});
afterEach(() => {
  end?.();
  end = null;
  vi.unstubAllGlobals();
});

/** The hook in a page of its own; `type` is what the person does. */
function typing(id = "s"): { type(text: string): void; now(): Mentions } {
  let current: Mentions | null = null;
  const root = createRoot(document.createElement("div"));
  const Probe = ({ text }: { text: string }) => {
    current = useMentions("/w", id, text, text.length, false);
    return null;
  };
  end = () => act(() => root.unmount());
  return { type: (text) => act(() => root.render(<Probe text={text} />)), now: () => current! };
}

const shown = (page: { now(): Mentions }) => page.now().matches.map((match) => match.path);
async function until(fact: () => void): Promise<void> {
  for (const end = Date.now() + 5000; ; ) {
    await act(() => new Promise((done) => setTimeout(done, 20)));
    try {
      return fact();
    } catch (cause) {
      if (Date.now() > end) throw cause;
    }
  }
}

describe("the list behind an @", () => {
  it("asks once for what was typed in one go, and offers it", async () => {
    const page = typing();
    for (const text of ["see @", "see @s", "see @sr", "see @src"]) page.type(text);
    await until(() => expect(shown(page)).toEqual(["found/src.ts"]));
    expect(asked.map((url) => url.search)).toEqual(["?projectId=%2Fw&q=src&limit=15"]);
    page.type("see @src done");
    expect(shown(page)).toEqual([]);
  });

  it("asks for folders behind @scope", async () => {
    const page = typing();
    page.type("@scope no");
    await until(() => expect(shown(page)).toEqual(["found/no.ts"]));
    expect(asked[0]!.searchParams.get("dirsOnly")).toBe("1");
    let after = { text: "", caret: 0 };
    act(() => void (after = page.now().choose("notes")));
    expect(after.text).toBe("@scope notes ");
    expect(page.now().files).toEqual([]);
  });

  it("is gone after Escape until something else is typed", async () => {
    const page = typing();
    page.type("@a");
    await until(() => expect(shown(page)).toHaveLength(1));
    act(() => page.now().dismiss());
    expect(shown(page)).toEqual([]);
    page.type("@ab");
    await until(() => expect(shown(page)).toEqual(["found/ab.ts"]));
  });
});

describe("a chosen file", () => {
  it("is kept with the draft of its tab until it is removed or sent", async () => {
    const page = typing("one");
    page.type("see @a");
    await until(() => expect(shown(page)).toHaveLength(1));
    act(() => void page.now().choose("found/a.ts"));
    act(() => void page.now().choose("found/a.ts"));
    expect(page.now().files).toEqual(["found/a.ts"]);
    end!();
    const again = typing("one");
    again.type("");
    expect(again.now().files).toEqual(["found/a.ts"]);
    act(() => again.now().remove("found/a.ts"));
    expect(again.now().files).toEqual([]);
    end!();
    const other = typing("two");
    other.type("");
    expect(other.now().files).toEqual([]);
  });
});
