export { LoginPage } from "./LoginPage";
export { SignedOutDialog } from "./SignedOutDialog";
