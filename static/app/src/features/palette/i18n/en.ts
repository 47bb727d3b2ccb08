export default {
  title: "Command palette",
  placeholder: "Search sessions and commands",
  sessions: "Sessions",
  files: "Files",
  commands: "Commands",
  all: "All",
  nothing: "Nothing matches “{{text}}”.",
  choose: "choose",
  open: "open",
  shown: "{{shown}} of {{all}}",
  hint: "> commands, # sessions",
};
