import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { errorText } from "@/api/client";
import { cancelDispatch, type Dispatch } from "@/api/relay";
import type { Workspace } from "@/api/workspaces";
import { toast } from "@/shared/toast";
import { Icon } from "@/shared/ui/Icon";
import { Segments } from "@/shared/ui/Segments";
import { Skeletons } from "@/shared/ui/Skeletons";
import { usePhone } from "@/shared/useMedia";
import { useTick } from "@/shared/useTick";
import { useShell } from "@/shell/store";
import { openEnd } from "./open";
import { RelayGraph } from "./RelayGraph";
import { RelayTable } from "./RelayTable";
import { shownIn, type Span } from "./shown";
import { endOf } from "./sides";
import { useAllDispatches, useDispatches } from "./useDispatches";
import "./relay.css";

/** Tasks from or to this workspace, closed ones too: as a picture, and as a table that says the same. */
export default function RelayPage({ workspace }: { workspace: Workspace }) {
  const { t } = useTranslation(["relay", "common"]);
  const [span, setSpan] = useState<Span>("day");
  const phone = usePhone(); // too narrow for a picture: the table says it all
  const open = useDispatches(workspace.path);
  const listed = useAllDispatches(workspace.path);
  const now = useTick(open.rows.length > 0);
  const minute = Math.floor(now / 60_000);
  // Both lists or nothing: a picture that grows under the keys leads them astray.
  const rows = useMemo(() => (listed.isPending ? [] : shownIn(span, open.rows, listed.rows, now)), [listed.isPending, span, open.rows, listed.rows, minute]);

  const show = (side: Dispatch["caller"]) => {
    const end = endOf(side);
    if (end === null) return;
    openEnd(end, workspace.path);
    useShell.setState({ activity: "sessions" });
  };
  const cancel = async (row: Dispatch) => {
    try {
      await cancelDispatch(workspace.path, row.id);
    } catch (cause) {
      toast.error(errorText(cause));
    }
    await open.refresh();
  };
  return (
    <div className="relay-page">
      <div className="relay-page-head">
        <h1>{t("title")}</h1><span className="grow" />
        <Segments<Span> label={t("span.label")} value={span} onChange={setSpan} options={[{ value: "open", label: t("span.open") }, { value: "day", label: t("span.day") }, { value: "all", label: t("span.all") }]} />
      </div>
      {listed.isPending && <Skeletons rows={3} height={56} />}
      {listed.isError && <div className="side-note" role="alert"><p>{t("failed")}</p><p className="t3 sm">{errorText(listed.error)}</p><button className="btn small" onClick={() => void listed.refetch()}>{t("common:act.retry")}</button></div>}
      {listed.isSuccess && rows.length === 0 && <div className="side-note"><Icon name="relay" size={18} /><p>{t(span === "all" ? "empty" : "emptyHere")}</p><p className="t3 sm">{t("emptyText")}</p></div>}
      {rows.length > 0 && !phone && <RelayGraph rows={rows} here={workspace.path} now={now} onOpen={show} />}
      {rows.length > 0 && <RelayTable rows={rows} here={workspace.path} now={now} onOpen={show} onCancel={workspace.level === "readonly" ? null : (row) => void cancel(row)} />}
      {span === "all" && listed.hasNextPage && <button className="btn ghost small" disabled={listed.isFetchingNextPage} onClick={() => void listed.fetchNextPage()}>{t("older")}</button>}
    </div>
  );
}
