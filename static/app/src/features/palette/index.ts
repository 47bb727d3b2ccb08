export { openFiles, openPalette, Palette, togglePalette } from "./Palette";
