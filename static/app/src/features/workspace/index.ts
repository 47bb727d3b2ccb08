export { FolderPicker } from "./FolderPicker";
export { WorkspaceMenu } from "./WorkspaceMenu";
export { addressOf, bootWorkspace, chooseFolder, closePicker, folderName, open as openFolder, openPicker, useWorkspace } from "./store";
export { readRecent } from "./recent";
