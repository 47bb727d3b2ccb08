import { lazy, Suspense, useEffect } from "react";
import { useTranslation } from "react-i18next";
import type { Workspace } from "@/api/workspaces";
import { FolderPicker, closePicker, useWorkspace } from "@/features/workspace";
import { Palette } from "@/features/palette";
import { useSessionNews } from "@/features/sessions";
import { socket } from "@/socket";
import { markSignedOut, useAuth } from "@/shared/auth";
import { Modal } from "@mantine/core";
import { Guard } from "@/shared/ui/Guard";
import { ChatHost, useWidth } from "./ChatHost";
import { ChatPanel, focusComposer } from "./chatPort";
import { Desk } from "./Desk";
import { KeysDialog } from "./KeysDialog";
import { Phone } from "./Phone";
import { loadLayout, showDialog, useShell } from "./store";
import { useFrameActions } from "./frameActions";
import { useTitle } from "./title";
import "./shell.css";

const ConnectModel = lazy(() => import("@/features/settings/ConnectModel"));

/** Everything around one open workspace. Another workspace is another Workbench: every store below starts afresh. */
export default function Workbench({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation("shell");
  const width = useWidth();
  const dialog = useShell((state) => state.dialog);
  const picking = useWorkspace((state) => state.picking);
  const phase = useAuth((state) => state.phase);

  useEffect(() => {
    loadLayout(workspace.path);
    socket.start(workspace.path);
    const stop = socket.onSignedOut(markSignedOut);
    return () => {
      stop();
      socket.stop();
    };
  }, [workspace.path]);

  useEffect(() => {
    if (phase === "in") socket.signedIn();
  }, [phase]);

  useSessionNews(workspace.path);
  useFrameActions(workspace);
  useTitle(workspace);

  return (
    <>
      <a className="skip-link" href="#composer" onClick={(event) => { event.preventDefault(); focusComposer(); }}>{t("skip")}</a>
      <ChatHost><Guard><ChatPanel workspace={workspace} onModelSettings={() => showDialog("connect")} /></Guard></ChatHost>
      {width === "phone" ? <Phone workspace={workspace} /> : <Desk workspace={workspace} width={width} />}
      <Palette workspace={workspace} />
      <Modal opened={picking} onClose={closePicker} withCloseButton={false} padding={0} size="auto" fullScreen={width === "phone"} classNames={{ content: "bare-dialog" }}>
        {picking && <FolderPicker onCancel={closePicker} />}
      </Modal>
      <KeysDialog opened={dialog === "keys"} onClose={() => showDialog(null)} />
      {dialog === "connect" && <Suspense fallback={null}><ConnectModel onClose={() => showDialog(null)} workspace={workspace} fullScreen={width === "phone"} /></Suspense>}
    </>
  );
}
