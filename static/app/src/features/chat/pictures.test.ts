import { expect, it } from "vitest";

import { picturesOf } from "./pictures";

const look = (path: unknown, output: string | null = "Image loaded: x (image/png, 1.0 KB, md5: 0)", name = "view_image") => ({ name, input: { path }, output });

it("pictures that were seen are shown once each", () => {
  expect(picturesOf([look("a.png"), look("img/b.png"), look("a.png")])).toEqual(["a.png", "img/b.png"]);
});
it.each([
  ["refused", look("a.png", "__TOOL_ERROR__\na.png was not loaded")],
  ["still at work", look("a.png", null)],
  ["another tool", look("a.png", undefined, "file_read")],
  ["outside the workspace", look("/etc/a.png")],
  ["above the workspace", look("../a.png")],
  ["without a path", look(7)],
])("a call that is %s shows no picture", (_, call) => expect(picturesOf([call])).toEqual([]));
