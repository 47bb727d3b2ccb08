/**
 * The arithmetic of a windowed log: which rows are mounted, how high the gaps are, where to scroll so that nothing
 * moves under the reader. Pure; the component measures and scrolls. Heights are px, cached by row key.
 */

export class Heights {
  private readonly known = new Map<string, number>();
  private offsets: Float64Array = new Float64Array(1);
  private keys: readonly string[] = [];
  private estimates: readonly number[] = [];

  /** Rows in order with a guess for those never measured. Measured heights survive. */
  setRows(keys: readonly string[], estimates: readonly number[]): void {
    this.keys = keys;
    this.estimates = estimates;
    this.rebuild(0);
  }

  /** Returns whether anything changed. */
  measure(sizes: ReadonlyMap<string, number>): boolean {
    let changed = false;
    for (const [key, height] of sizes) {
      if (this.known.get(key) === height) continue;
      this.known.set(key, height);
      changed = true;
    }
    if (changed) this.rebuild(0);
    return changed;
  }

  private rebuild(from: number): void {
    const count = this.keys.length;
    const next = this.offsets.length === count + 1 ? this.offsets : new Float64Array(count + 1);
    let sum = from === 0 ? 0 : next[from]!;
    for (let place = from; place < count; place += 1) {
      next[place] = sum;
      sum += this.known.get(this.keys[place]!) ?? this.estimates[place]!;
    }
    next[count] = sum;
    this.offsets = next;
  }

  get count(): number {
    return this.keys.length;
  }
  get total(): number {
    return this.offsets[this.keys.length] ?? 0;
  }
  top(place: number): number {
    return this.offsets[Math.min(Math.max(0, place), this.keys.length)] ?? 0;
  }
  height(place: number): number {
    return this.top(place + 1) - this.top(place);
  }
  isMeasured(key: string): boolean {
    return this.known.has(key);
  }
  keyAt(place: number): string | undefined {
    return this.keys[place];
  }
  placeOf(key: string): number {
    return this.keys.indexOf(key);
  }

  /** The row that covers this offset; the last one for anything below. */
  at(offset: number): number {
    let low = 0;
    let high = this.keys.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle]! <= offset) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }
}

export interface Range {
  first: number;
  last: number; // inclusive; -1 = no rows
}

export function rangeFor(heights: Heights, scrollTop: number, viewport: number, overscan: number): Range {
  if (heights.count === 0) return { first: 0, last: -1 };
  const first = heights.at(Math.max(0, scrollTop));
  const last = heights.at(Math.max(0, scrollTop + viewport));
  return { first: Math.max(0, first - overscan), last: Math.min(heights.count - 1, last + overscan) };
}

/** The reader's place: the topmost visible row and how far it is scrolled out. Survives prepends and new heights. */
export interface Anchor {
  key: string;
  offset: number;
}

export function anchorAt(heights: Heights, scrollTop: number): Anchor | null {
  if (heights.count === 0) return null;
  const place = heights.at(scrollTop);
  return { key: heights.keyAt(place)!, offset: scrollTop - heights.top(place) };
}

export function scrollFor(heights: Heights, anchor: Anchor): number | null {
  const place = heights.placeOf(anchor.key);
  return place < 0 ? null : heights.top(place) + anchor.offset;
}

/** What to mount: the range plus single rows that must not go away (sticky card, focused row), with the gaps between. */
export interface Slot {
  place: number;
  gap: number; // px of unmounted rows before this one
}

export function slotsFor(heights: Heights, range: Range, extra: readonly number[]): { slots: Slot[]; after: number } {
  const places = new Set<number>();
  for (const place of extra) if (place >= 0 && place < heights.count) places.add(place);
  for (let place = range.first; place <= range.last; place += 1) places.add(place);
  const ordered = [...places].sort((a, b) => a - b);
  const slots: Slot[] = [];
  let end = 0;
  for (const place of ordered) {
    slots.push({ place, gap: heights.top(place) - end });
    end = heights.top(place + 1);
  }
  return { slots, after: heights.total - end };
}
