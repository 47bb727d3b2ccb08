import { describe, expect, it } from "vitest";

import { anchorAt, Heights, rangeFor, scrollFor, slotsFor } from "./virtual";

const keys = (from: number, to: number): string[] => Array.from({ length: to - from }, (_, n) => `k${from + n}`);
const make = (from: number, to: number, guess = 20): Heights => {
  const heights = new Heights();
  heights.setRows(keys(from, to), Array(to - from).fill(guess) as number[]);
  return heights;
};

describe("the windowed log", () => {
  it("mounts what is visible and a little more", () => {
    expect(rangeFor(make(0, 1000), 200, 100, 6)).toEqual({ first: 4, last: 21 });
    expect(rangeFor(make(0, 0), 0, 100, 6)).toEqual({ first: 0, last: -1 });
  });

  it("keeps the reader's place when older rows are put in front, to the pixel", () => {
    const heights = make(100, 200);
    heights.measure(new Map([["k105", 333]]));
    const anchor = anchorAt(heights, 150)!;
    expect(anchor).toEqual({ key: "k105", offset: 50 });
    heights.setRows(keys(0, 200), Array(200).fill(31) as number[]);
    expect(scrollFor(heights, anchor)).toBe(105 * 31 + 50);
  });

  it("keeps the reader's place when a row above turns out higher than guessed", () => {
    const heights = make(0, 100);
    const anchor = anchorAt(heights, 405)!;
    heights.measure(new Map([["k3", 220]]));
    expect(scrollFor(heights, anchor)).toBe(605);
  });

  it("leaves gaps that add up to the whole height, whatever is mounted beside the range", () => {
    const heights = make(0, 500, 17);
    heights.measure(new Map([["k7", 90], ["k300", 211]]));
    for (const extra of [[], [3], [3, 490], [250]]) {
      const { slots, after } = slotsFor(heights, rangeFor(heights, 4000, 600, 6), extra);
      const shown = slots.reduce((sum, slot) => sum + slot.gap + heights.height(slot.place), 0);
      expect(shown + after).toBe(heights.total);
      expect(slots.every((slot) => slot.gap >= 0)).toBe(true);
    }
  });

  it("handles 10,000 rows within a fraction of a frame", () => {
    const heights = make(0, 10_000);
    const all = keys(0, 10_000);
    const guesses = Array(10_000).fill(20) as number[];
    const start = performance.now();
    for (let n = 0; n < 50; n += 1) {
      heights.setRows(all, guesses);
      heights.measure(new Map([[`k${n}`, n]]));
      rangeFor(heights, n * 1000, 800, 6);
    }
    expect((performance.now() - start) / 50).toBeLessThan(30);
  });
});
