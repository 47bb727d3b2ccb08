/** Pure: is this enough to try a model? */
import type { ModelWish, Provider } from "@/api/settings";

export type Way = "key" | "own" | "cloud";

/** A server of one's own is this provider with another address: its dialect is what such servers speak. */
export const OWN_SERVER = "openai";

export interface WishFaults {
  endpoint?: "addressBad";
  model?: "modelMissing";
  /** Names of secrets that are needed and neither given nor stored. */
  secrets?: readonly string[];
}

export function checkWish(way: Way, wish: ModelWish, provider: Provider | undefined): WishFaults {
  const faults: WishFaults = {};
  if (!/^https?:\/\/[^/\s]+/i.test(wish.endpoint)) faults.endpoint = "addressBad";
  if (!wish.model) faults.model = "modelMissing";
  if (way !== "own" && !provider?.hasKey) {
    const missing = (provider?.secrets ?? []).filter((secret) => !secret.optional && !wish.secrets?.[secret.key]).map((secret) => secret.key);
    if (missing.length > 0) faults.secrets = missing;
  }
  return faults;
}

const REGION = /^(https:\/\/[a-z-]+\.)([a-z]{2}(?:-[a-z]+)+-\d)(\.(?:amazonaws\.com(?:\.cn)?|api\.aws)(?:\/|$))/i;

/** The region an address of a cloud account names; null = it names none (a proxy, a private endpoint). */
export const regionOf = (endpoint: string): string | null => REGION.exec(endpoint)?.[2] ?? null;

export const withRegion = (endpoint: string, region: string): string => endpoint.replace(REGION, (_all, before: string, _old: string, after: string) => before + region + after);

/** Its requests are signed for an account and a region. */
export const isCloud = (provider: Provider): boolean => regionOf(provider.defaultEndpoint) !== null;
