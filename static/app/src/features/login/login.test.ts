import { describe, expect, it } from "vitest";
import { ApiError } from "@/api/client";
import { afterLoss } from "@/shared/auth";
import { loginFault } from "./LoginForm";

describe("a refused login", () => {
  it("says what to do, by its cause", () => {
    expect(loginFault(new ApiError(401, "Invalid password"))).toEqual({ kind: "wrong" });
    expect(loginFault(new ApiError(0, "fetch failed"))).toEqual({ kind: "network" });
    expect(loginFault(new ApiError(429, "Too many", 890))).toEqual({ kind: "tooMany", minutes: 15 });
    expect(loginFault(new ApiError(429, "Too many", 7170))).toEqual({ kind: "tooManyHours", hours: 2 });
    expect(loginFault(new ApiError(429, "Too many", 86_400))).toEqual({ kind: "tooManyHours", hours: 24 });
    expect(loginFault(new ApiError(429, "Too many"))).toEqual({ kind: "tooManyUnknown" });
    expect(loginFault(new ApiError(507, "Storage cannot be written"))).toEqual({ kind: "failed", error: "Storage cannot be written" });
  });
});

describe("a lost login", () => {
  it("asks over the page that was in use, and shows the login page otherwise", () => {
    expect(afterLoss("in")).toBe("expired");
    expect(afterLoss("expired")).toBe("expired");
    expect(afterLoss("checking")).toBe("out");
  });
});
