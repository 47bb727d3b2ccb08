import { marked, plain } from "./hits";

/** A snippet with the words that were searched for set off. */
export const Marked = ({ text, terms }: { text: string; terms: readonly string[] }) => (
  <>{marked(plain(text), terms).map((part, place) => (part.hit ? <mark key={place}>{part.text}</mark> : part.text))}</>
);
