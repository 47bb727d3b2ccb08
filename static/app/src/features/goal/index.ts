export { GoalBanner } from "./GoalBanner";
export { attachGoal, ledNow, useLed } from "./store";
