import { describe, expect, it } from "vitest";
import { addRecent, dropRecent, MOST_RECENT } from "./recent";
import { addressOf, firstWish, folderName } from "./store";

describe("the folder to open at the start", () => {
  it("is the one in the address, then the last one, then a question", () => {
    expect(firstWish("?folder=/a%20b", "/last")).toEqual({ path: "/a b", wished: true });
    expect(firstWish("", "/last")).toEqual({ path: "/last", wished: false });
    expect(firstWish("?folder=", null)).toBeNull();
  });
  it("goes into the address readably and comes back out of it unchanged", () => {
    for (const path of ["/home/x/project", "/a b/c&d=e", "/ü/中文/#1", "/100%/+"]) {
      expect(firstWish(addressOf(path), null)?.path).toBe(path);
    }
    expect(addressOf("/home/x")).toBe("?folder=/home/x");
  });
  it("is called by its last part", () => {
    expect(folderName("/home/x/project")).toBe("project");
    expect(folderName("/")).toBe("/");
  });
});

describe("the recent list", () => {
  it("holds each folder once, newest first, and eight of them", () => {
    const many = Array.from({ length: 12 }, (_, index) => `/f${index}`).reduce<string[]>(addRecent, []);
    expect(many).toHaveLength(MOST_RECENT);
    expect(addRecent(many, "/f8").filter((path) => path === "/f8")).toHaveLength(1);
    expect(addRecent(many, "/f8")[0]).toBe("/f8");
    expect(dropRecent(["/a", "/b"], "/a")).toEqual(["/b"]);
  });
});
