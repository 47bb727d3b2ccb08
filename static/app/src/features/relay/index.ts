export { RelayPanel } from "./RelayPanel";
