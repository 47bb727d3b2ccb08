import { describe, expect, it } from "vitest";
import type { Provider } from "@/api/settings";
import { checkWish, isCloud, regionOf, withRegion } from "./wish";

const key = { key: "api_key", description: "API key", description_zh: "" };
const provider = (ready: boolean, more: Partial<Provider> = {}): Provider => ({
  id: "openai", family: "chat", displayName: "OpenAI", displayName_zh: "", description: "", description_zh: "", defaultEndpoint: "", endpointPresets: [], defaultModelId: "", secrets: [key], models: [],
  suggestions: [], suggestions_zh: [], hasKey: ready, ...more,
});
const wish = { provider: "openai", model: "m", endpoint: "https://api.example/v1" };

describe("connecting a model", () => {
  it("needs an address that is one", () => {
    expect(checkWish("own", { ...wish, endpoint: "htp://x" }, provider(false))).toEqual({ endpoint: "addressBad" });
  });
  it("needs a key at a known provider, unless one is stored", () => {
    expect(checkWish("key", wish, provider(false))).toEqual({ secrets: ["api_key"] });
    expect(checkWish("key", wish, provider(true))).toEqual({});
    expect(checkWish("key", { ...wish, secrets: { api_key: "k" } }, provider(false))).toEqual({});
  });
  it("asks a server of one's own for no key, and a cloud account for none that is optional", () => {
    expect(checkWish("own", { ...wish, endpoint: "http://localhost:11434/v1" }, provider(false))).toEqual({});
    expect(checkWish("cloud", wish, provider(false, { secrets: [{ ...key, optional: true }] }))).toEqual({});
  });
});

describe("the region of a cloud account", () => {
  it("is read from the address and put into it", () => {
    const address = "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1";
    expect([regionOf(address), regionOf("https://bedrock-mantle.us-east-2.api.aws/openai/v1"), regionOf("https://proxy.example/v1")]).toEqual(["us-east-1", "us-east-2", null]);
    expect(withRegion(address, "ap-northeast-1")).toBe("https://bedrock-runtime.ap-northeast-1.amazonaws.com/openai/v1");
    expect(withRegion("https://proxy.example", "eu-west-1")).toBe("https://proxy.example");
    expect([isCloud(provider(false, { defaultEndpoint: address })), isCloud(provider(false, { defaultEndpoint: "https://api.openai.com/v1" }))]).toEqual([true, false]);
  });
});
