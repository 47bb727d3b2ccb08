/** What a person has opened stays open when its row leaves the window and comes back: remembered per block. */
import { useState } from "react";

const open = new Map<string, boolean>();
const MOST = 2000;

export function useOpen(key: string, initially = false): [boolean, (value: boolean) => void] {
  const [value, setValue] = useState(() => open.get(key) ?? initially);
  const change = (next: boolean): void => {
    open.set(key, next);
    if (open.size > MOST) open.delete(open.keys().next().value!);
    setValue(next);
  };
  return [value, change];
}
