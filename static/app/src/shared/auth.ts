/** Who uses this page. `expired`: the login ended while the page was open; a dialog asks again, nothing is lost. */
import { create } from "zustand";
import { checkAuth, type User } from "@/api/auth";
import { whenSignedOut } from "@/api/client";
import { setLanguage } from "@/shared/i18n";
import { setTheme } from "@/shared/theme/store";

export type AuthPhase = "checking" | "unreachable" | "out" | "in" | "expired";

interface Auth {
  phase: AuthPhase;
  user: User | null;
  badge: string | null;
  /** HALO_PASSWORD rules: the app offers no change. */
  passwordManaged: boolean;
}

export const useAuth = create<Auth>()(() => ({ phase: "checking", user: null, badge: null, passwordManaged: false }));

/** A 401 in mid-work opens the dialog; before the first login the login page is already there. */
export const afterLoss = (phase: AuthPhase): AuthPhase => (phase === "in" || phase === "expired" ? "expired" : "out");

export const markSignedOut = (): void => useAuth.setState(({ phase }) => ({ phase: afterLoss(phase) }));

whenSignedOut(markSignedOut);

/** Ask the server who we are; the person's theme and language win over what this browser remembered. */
export async function refreshAuth(): Promise<void> {
  try {
    const answer = await checkAuth();
    if (!answer.authenticated) {
      useAuth.setState(({ phase }) => ({ phase: afterLoss(phase), badge: answer.badge }));
      return;
    }
    const prefs = answer.user?.prefs;
    if (prefs?.theme) setTheme(prefs.theme);
    if (prefs?.language) await setLanguage(prefs.language);
    useAuth.setState({ phase: "in", user: answer.user ?? null, badge: answer.badge, passwordManaged: answer.passwordManaged ?? false });
  } catch {
    useAuth.setState(({ phase }) => ({ phase: phase === "in" || phase === "expired" ? phase : "unreachable" }));
  }
}
