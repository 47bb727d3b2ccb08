export default {
  title: "Goal",
  status: { intake: "Goal is being agreed on", running: "Goal at work", paused: "Goal paused", halted: "Goal halted", done: "Goal reached" },
  round: "round {{round}} of {{max}}",
  open: "Open the goal's session",
  worker: "Worker",
  openWorker: "Open the session that works for the goal",
  dismiss: "Put away",
  composer: "The goal leads this session. Commands work: /goal pause frees it.",
  composerShort: "The goal leads. / for commands",
  locked: "The goal leads this session: talk to the goal, or free this one with /goal pause.",
};
