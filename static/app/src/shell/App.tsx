import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { lazy, Suspense, useEffect } from "react";
import { useTranslation } from "react-i18next";
import { ApiError } from "@/api/client";
import { LoginPage, SignedOutDialog } from "@/features/login";
import { bootWorkspace, FolderPicker, useWorkspace, chooseFolder, openFolder } from "@/features/workspace";
import { refreshAuth, useAuth } from "@/shared/auth";
import { cssVariables, schemeManager, theme } from "@/shared/theme/theme";
import { isLight, useTheme } from "@/shared/theme/store";
import { Icon } from "@/shared/ui/Icon";
import { Guard } from "@/shared/ui/Guard";
import { Slow } from "@/shared/ui/Slow";
import { readRecent } from "@/features/workspace";

const Workbench = lazy(() => import("./Workbench"));

const queries = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Infinity, // views refresh by push, never by timer
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      retry: (failures, cause) => failures < 2 && cause instanceof ApiError && (cause.offline || cause.status >= 502),
    },
  },
});

export function App() {
  const scheme = useTheme((state) => (isLight(state.theme) ? "light" : "dark"));
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} colorSchemeManager={schemeManager} forceColorScheme={scheme}>
      <QueryClientProvider client={queries}>
        <Guard>
          <Page />
          <SignedOutDialog />
        </Guard>
        <Notifications position="bottom-right" limit={3} autoClose={6000} zIndex={400} />
      </QueryClientProvider>
    </MantineProvider>
  );
}

function Page() {
  const phase = useAuth((state) => state.phase);
  useEffect(() => void refreshAuth(), []);
  const signedIn = phase === "in" || phase === "expired";
  if (phase === "checking") return <Slow />;
  if (phase === "unreachable") return <Unreachable retry={() => void refreshAuth()} />;
  return signedIn ? <Place /> : <LoginPage />;
}

/** Signed in: the workspace this page is about, or the way to one. */
function Place() {
  const { t } = useTranslation(["workspace", "common"]);
  const phase = useWorkspace((state) => state.phase);
  useEffect(() => {
    if (useWorkspace.getState().phase.kind === "starting") void bootWorkspace();
  }, []);
  switch (phase.kind) {
    case "starting":
    case "opening":
      return <Slow />;
    case "choose":
      return <div className="picker-page"><FolderPicker firstRun={readRecent().length === 0} /></div>;
    case "failed":
      return (
        <main className="full-note" role="alert">
          <Icon name="alert" size={24} />
          <h1>{t("failed", { path: phase.path })}</h1>
          <p className="t2">{phase.offline ? t("common:state.offline") : phase.error}</p>
          <div className="row">
            <button className="btn" onClick={() => void openFolder(phase.path)}>{t("common:act.retry")}</button>
            <button className="btn primary" onClick={chooseFolder}>{t("another")}</button>
          </div>
        </main>
      );
    case "open":
      return <Suspense fallback={<Slow />}><Workbench key={phase.workspace.path} workspace={phase.workspace} /></Suspense>;
  }
}

function Unreachable({ retry }: { retry: () => void }) {
  const { t } = useTranslation(["shell", "common"]);
  return (
    <main className="full-note" role="alert">
      <Icon name="offline" size={24} />
      <h1>{t("unreachable")}</h1>
      <p className="t2">{t("unreachableText")}</p>
      <button className="btn primary" onClick={retry}>{t("common:act.retry")}</button>
    </main>
  );
}
