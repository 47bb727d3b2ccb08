export { Checklist } from "./Checklist";
export { DemoBanner } from "./DemoBanner";
export { providersKey, setFlag, useFirstRun, type FirstRun } from "./useFirstRun";
