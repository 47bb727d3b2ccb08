export { Marked } from "./Marked";
export { SearchPanel } from "./SearchPanel";
export { useHits } from "./useHits";
export { useSearch, wishSearch } from "./store";
