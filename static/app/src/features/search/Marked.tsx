import { marked } from "./hits";

/** A text with the words that were searched for set off. */
export const Marked = ({ text, terms }: { text: string; terms: readonly string[] }) => (
  <>{marked(text, terms).map((part, place) => (part.hit ? <mark key={place}>{part.text}</mark> : part.text))}</>
);
