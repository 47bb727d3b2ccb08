/** What other pages may use of the settings; the page itself is loaded on its own (SettingsPage). */
import "./settings.css";

export { FieldRow } from "./FieldRow";
export { lockOf } from "./model";
