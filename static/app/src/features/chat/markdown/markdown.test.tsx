import { act } from "react";
import { createRoot } from "react-dom/client";
import { afterEach, describe, expect, it } from "vitest";

import { splitBlocks } from "./blocks";
import { hostOf, safeHref } from "./links";
import { Markdown } from "./Markdown";

(globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;

let unmount: (() => void) | null = null;
afterEach(() => unmount?.());

function render(text: string): HTMLElement {
  unmount?.();
  const place = document.createElement("div");
  const root = createRoot(place);
  act(() => root.render(<Markdown text={text} />));
  unmount = () => act(() => root.unmount());
  return place;
}

describe("blocks", () => {
  it("are cut at blank lines, lists and indented text stay whole", () => {
    const blocks = splitBlocks("# head\n\npara\ngoes on\n\n- a\n\n- b\n\n  inside b\n\nnext\n\n1. one\n\n2. two\n");
    expect(blocks.map((block) => (block.kind === "text" ? block.text : ""))).toEqual([
      "# head", "para\ngoes on", "- a\n\n- b\n\n  inside b", "next", "1. one\n\n2. two",
    ]);
  });

  it("show an open fence as code from its first line", () => {
    expect(splitBlocks("see\n```py\nx = 1")).toEqual([
      { kind: "text", text: "see" },
      { kind: "fence", language: "py", code: "x = 1", open: true },
    ]);
    expect(splitBlocks("~~~\na\n```\nb\n~~~\nafter").map((block) => block.kind)).toEqual(["fence", "text"]);
    expect(splitBlocks("````md\n```\nx\n```\n````")[0]).toMatchObject({ code: "```\nx\n```", open: false });
  });

  it("name the files of their lines, together where they follow each other", () => {
    const cut = (text: string) => splitBlocks(text).map((block) => (block.kind === "media" ? block.media.map((media) => media.path) : block.kind === "text" ? block.text : block.code));
    expect(cut("Done\nMEDIA:/w/a.png\n\nMEDIA:/w/b.png\r\nand\n[图片已保存: /w/c.png]")).toEqual(["Done", ["/w/a.png", "/w/b.png"], "and", ["/w/c.png"]]);
    expect(cut("```\nMEDIA:/w/a.png\n```\n- a\n\n  MEDIA:/w/b.png")).toEqual(["MEDIA:/w/a.png", "- a\n\n  MEDIA:/w/b.png"]);
  });

  it("give a link definition to the block that uses it", () => {
    const place = render("see [the docs][d]\n\nmore\n\n[d]: https://example.org/x");
    expect(place.querySelector("a")?.getAttribute("href")).toBe("https://example.org/x");
  });

  it("are the same at the end, however the text was cut on its way", () => {
    const text = "# T\n\n- a\n- b\n\n```py\nx\n```\n\nend **bold** `code`\n\n| a | b |\n|---|---|\n| 1 | 2 |\n";
    const whole = render(text).innerHTML;
    for (let cut = 0; cut <= text.length; cut += 3) expect(() => splitBlocks(text.slice(0, cut))).not.toThrow();
    expect(render(text).innerHTML).toBe(whole);
  });
});

describe("test_F1: nothing in a message runs", () => {
  const hostile = [
    "<script>window.hit=1</script>", "<img src=x onerror=window.hit=1>", "[x](javascript:window.hit=1)",
    "[x](JaVaScRiPt:window.hit=1)", "[x](java\tscript:window.hit=1)", "[x](&#106;avascript:window.hit=1)",
    "[x](data:text/html,<script>1</script>)", "[x](vbscript:x)", "[x](file:///etc/passwd)", "<a href='javascript:1'>x</a>",
    "![x](javascript:1)", "<iframe src='https://example.org'></iframe>", "<svg onload=window.hit=1>", "<style>*{}</style>",
    "[x](//example.org)", "[x][y]\n\n[y]: javascript:window.hit=1", "<https://example.org/\"onmouseover=1>", "<details open ontoggle=window.hit=1>",
  ];

  it("as a whole and cut at every place", () => {
    for (const text of hostile) {
      for (let cut = 1; cut <= text.length; cut += 1) {
        const place = render(text.slice(0, cut));
        expect(place.querySelector("script, iframe, style, object, embed, form, svg[onload], link, meta, base"), text).toBeNull();
        for (const element of place.querySelectorAll("*")) {
          for (const attribute of element.attributes) {
            expect(attribute.name.startsWith("on"), `${text} ${attribute.name}`).toBe(false);
          }
          const href = element.getAttribute("href") ?? element.getAttribute("src");
          if (href !== null) expect(href, text).toMatch(/^(https?:|mailto:)/);
        }
      }
    }
    expect((window as { hit?: number }).hit).toBeUndefined();
  }, 60_000);
});

describe("test_F2: nothing is asked of another host before a click", () => {
  it("pictures are chips that name the real host", () => {
    const place = render("![logo](https://user:pw@xn--80ak6aa92e.com/a.png?x=1) ![b][r]\n\n[r]: https://example.org/b.png");
    expect(place.querySelector("img")).toBeNull();
    expect([...place.querySelectorAll("button")].map((button) => button.textContent).join()).toContain("xn--80ak6aa92e.com");
  });
});

describe("an address", () => {
  it("is followed for http, https and mailto only", () => {
    expect(safeHref("https://example.org/a b")).toBe("https://example.org/a%20b");
    expect(safeHref("mailto:a@example.org")).toBe("mailto:a@example.org");
    for (const bad of ["javascript:1", " javascript:1", "java\nscript:1", "\u0001javascript:1", "/etc/passwd", "a.md", "ftp://x", "blob:x", "https://"]) {
      expect(safeHref(bad), bad).toBeNull();
    }
    expect(hostOf("https://user@evil.example:8443/x")).toBe("evil.example:8443");
  });
});
