import { describe, expect, it } from "vitest";
import { doneSteps, nextStep } from "./steps";

describe("the list of a newcomer", () => {
  it("ticks itself by what has happened, in any order", () => {
    const done = doneSteps({ asked: false, model: true, file: false, keyboard: false });
    expect(done).toEqual(["folder", "model"]);
    expect(nextStep(done)).toBe("ask");
  });
  it("points nowhere when everything is done", () => {
    expect(nextStep(doneSteps({ asked: true, model: true, file: true, keyboard: true }))).toBeNull();
  });
});
