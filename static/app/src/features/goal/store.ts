/** The goal of the open workspace: asked for at every connection, then kept by frames. */
import { create } from "zustand";
import { getGoal } from "@/api/sessions";
import { storage } from "@/shared/storage";
import { socket } from "@/socket";
import { asGoal, isLed, told, type Goal } from "./state";

interface GoalState {
  project: string;
  goal: Goal | null;
  dismissed: string | null; // id of the ended goal that was put away here
  workerParked: boolean; // it crashed and waits for a person
}

export const useGoal = create<GoalState>()(() => ({ project: "", goal: null, dismissed: null, workerParked: false }));

const keyOf = (project: string): string => `halo_goal_dismissed_${project}`;

/** Follow the goal of a workspace. Returns the way to leave it. */
export function attachGoal(project: string): () => void {
  let news = 0; // an answer that was asked for before the last frame is older than it
  let left = false;
  useGoal.setState({ project, goal: null, dismissed: storage.get(keyOf(project)), workerParked: false });
  const load = async (): Promise<void> => {
    const asked = ++news;
    try {
      const goal = await getGoal(project);
      if (!left && asked === news) useGoal.setState({ goal: goal && asGoal(goal) });
    } catch {
      // What is known stays; the next connection asks again, and the lists beside it say what is wrong.
    }
  };
  const stops = [
    socket.onFrame((frame) => {
      if (frame.type !== "goal:changed" || frame.workspacePath !== project) return; // one of another folder
      news += 1;
      useGoal.setState(({ goal }) => ({ goal: told(goal, frame) }));
    }),
    socket.onConnected(() => void load()),
  ];
  void load();
  return () => {
    left = true;
    stops.forEach((stop) => stop());
    useGoal.setState({ project: "", goal: null, dismissed: null, workerParked: false });
  };
}

export function dismissGoal(): void {
  const { project, goal } = useGoal.getState();
  if (goal === null) return;
  storage.set(keyOf(project), goal.goalSessionId);
  useGoal.setState({ dismissed: goal.goalSessionId });
}

/** Whether a goal speaks to this session now, instead of people. */
export const useLed = (id: string): boolean => useGoal((state) => isLed(state.goal, state.workerParked, id));
export function ledNow(id: string): boolean {
  const { goal, workerParked } = useGoal.getState();
  return isLed(goal, workerParked, id);
}
