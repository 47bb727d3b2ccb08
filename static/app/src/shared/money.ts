/** Millionths of a currency unit as people write money; below a cent it says so. */
const SIGNS: Record<string, string> = { USD: "$", EUR: "€", GBP: "£", CNY: "¥", JPY: "¥" };

export function money(micros: number, currency: string): string {
  const sign = SIGNS[currency] ?? (currency ? `${currency} ` : "$");
  if (micros > 0 && micros < 10_000) return `<${sign}0.01`;
  return `${sign}${(micros / 1_000_000).toFixed(2)}`;
}
