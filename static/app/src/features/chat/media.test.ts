import { describe, expect, it } from "vitest";

import { mediaOf, pathWithin, takeMedia } from "./media";

describe("a line is a marker", () => {
  it.each([
    ["[图片已保存: /w/a b.png]", "image", "/w/a b.png", "a b.png", ""],
    ["[图片已保存：/w/a.png]", "image", "/w/a.png", "a.png", ""],
    ["[图片已保存: /w/odd[1].png]", "image", "/w/odd[1].png", "odd[1].png", ""],
    ["[视频已保存: /w/v.mp4]", "video", "/w/v.mp4", "v.mp4", ""],
    ["[视频消息 12s 已保存: /w/v.mp4]", "video", "/w/v.mp4", "v.mp4", ""],
    ["[语音已保存: /w/v.ogg]", "audio", "/w/v.ogg", "v.ogg", ""],
    ["[语音 3s 已保存: /w/v.silk]", "audio", "/w/v.silk", "v.silk", ""],
    ["[语音消息已保存: /w/v.silk]", "audio", "/w/v.silk", "v.silk", ""],
    ["[语音消息 3.5s已保存: /w/v.silk，服务端转写: 你好, 明天见]", "audio", "/w/v.silk", "v.silk", "你好, 明天见"],
    ["[语音消息 3s已保存: /w/v.silk, 服务端转写：hello]", "audio", "/w/v.silk", "v.silk", "hello"],
    ["[语音消息 3s已保存: /w/v.silk，服务端转写: ]", "audio", "/w/v.silk", "v.silk", ""],
    ['[文件 "年报 "终稿".pdf" 已保存: /w/1f.bin]', "file", "/w/1f.bin", '年报 "终稿".pdf', ""],
    ['[文件 "photo.JPG" 已保存: /w/1f.JPG]', "image", "/w/1f.JPG", "photo.JPG", ""],
    ['[文件 "" 已保存: /w/x.zip]', "file", "/w/x.zip", "x.zip", ""],
    ["MEDIA:/w/out/plot.png", "image", "/w/out/plot.png", "plot.png", ""],
    ["MEDIA: \t/w/a song.mp3  ", "audio", "/w/a song.mp3", "a song.mp3", ""],
    ["MEDIA:/w/clip.webm\r", "video", "/w/clip.webm", "clip.webm", ""],
    ["MEDIA:/w/Makefile", "file", "/w/Makefile", "Makefile", ""],
  ])("%s", (line, kind, path, name, transcript) => expect(mediaOf(line)).toEqual({ kind, path, name, transcript }));
});

describe("a line is text", () => {
  it.each([
    "see MEDIA:/w/a.png", " MEDIA:/w/a.png", "media:/w/a.png", "MEDIA :/w/a.png", "MEDIA:", "MEDIA:  ", "MEDIA:a.png", "MEDIA: the press", "MEDIA:~/a.png",
    "[图片已保存: /w/a.png] and more", "see [图片已保存: /w/a.png]", " [图片已保存: /w/a.png]", "[图片已保存: /w/a.png", "[图片已保存: ]", "[图片已保存 /w/a.png]",
    "[图片下载失败: 404]", "[图片]", "[文件: a.pdf]", "[文件 a.pdf 已保存: /w/a.pdf]", "[语音 3s]", "[语音消息: 无法解密（缺少 aes_key）]", "[链接已保存: /w/a]", "`MEDIA:/w/a.png`", "> MEDIA:/w/a.png",
  ])("%s", (line) => expect(mediaOf(line)).toBeNull());
});

describe("the words of a message", () => {
  const paths = (text: string) => takeMedia(text).media.map((media) => media.path);

  it("stand without its markers, wherever these are and however lines end", () => {
    const text = "[图片已保存: /w/a.png]\r\n[视频已保存: /w/b.mp4]\r\n\r\nlook\r\nMEDIA:/w/c.pdf\r\nhere\r\n\r\n[语音已保存: /w/d.ogg]";
    expect(takeMedia(text).own).toBe("look\nhere");
    expect(paths(text)).toEqual(["/w/a.png", "/w/b.mp4", "/w/c.pdf", "/w/d.ogg"]);
  });
  it("are as they were when there is none", () => {
    expect(takeMedia("\n a\r\nb \n")).toEqual({ own: "\n a\r\nb \n", media: [] });
  });
  it("are nothing when there are only markers, and a file that is named twice is one", () => {
    expect(takeMedia("MEDIA:/w/a.png\nMEDIA:/w/a.png\n").own).toBe("");
    expect(paths("MEDIA:/w/a.png\nMEDIA:/w/a.png\n")).toEqual(["/w/a.png"]);
  });
  it.each(["```", "~~~~", "```sh", "  ```"])("keep the markers of code behind %s", (fence) => {
    const mark = fence.trim().replace(/\w/g, "");
    const text = `${fence}\nMEDIA:/w/a.png\n${mark}\nMEDIA:/w/b.png\n${fence}\n[图片已保存: /w/c.png]`;
    expect(takeMedia(text).own).toBe(`${fence}\nMEDIA:/w/a.png\n${mark}\n${fence}\n[图片已保存: /w/c.png]`);
    expect(paths(text)).toEqual(["/w/b.png"]);
  });
});

describe("a path is inside of the workspace", () => {
  it.each([
    ["/w/a.png", "a.png"], ["/w/x/../b//c.png", "b/c.png"], ["img/a.png", "img/a.png"], ["/w/./a", "a"], ["/w/..a", "..a"], ["/x/../w/a", "a"],
  ])("%s", (path, within) => expect(pathWithin("/w", path)).toBe(within));
  it.each(["/w", "/w/", "/other/a", "/w2/a", "/w/../w2/a", "../a", "/tmp/a", "/", ""])("%s is not", (path) => expect(pathWithin("/w", path)).toBeNull());
  it("also when that is the whole disk", () => expect(pathWithin("/", "/tmp/a")).toBe("tmp/a"));
});
