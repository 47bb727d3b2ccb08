/** Pure: the five steps of a newcomer, ticked by facts. */
export const STEPS = ["folder", "ask", "model", "file", "keyboard"] as const;
export type Step = (typeof STEPS)[number];

export interface Facts {
  /** Sessions with at least one exchange. */
  asked: boolean;
  /** The agent of new sessions has a real model. */
  model: boolean;
  /** An agent has written or edited a file while this browser watched. */
  file: boolean;
  /** Palette or key list were opened. */
  keyboard: boolean;
}

export const doneSteps = (facts: Facts): Step[] =>
  STEPS.filter((step) => step === "folder" || (step === "ask" && facts.asked) || (step === "model" && facts.model) || (step === "file" && facts.file) || (step === "keyboard" && facts.keyboard));

/** The one that is pointed at: the first that is not done. */
export const nextStep = (done: readonly Step[]): Step | null => STEPS.find((step) => !done.includes(step)) ?? null;
