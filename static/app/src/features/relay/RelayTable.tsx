import { useTranslation } from "react-i18next";
import type { Dispatch } from "@/api/relay";
import { when } from "@/features/sessions";
import { clock } from "@/shared/clock";
import { Icon } from "@/shared/ui/Icon";
import { Ring } from "@/shared/ui/Ring";
import { LOOKS, stateOf, waited } from "./shown";
import { endOf, nameOf } from "./sides";

interface Props {
  rows: readonly Dispatch[];
  here: string;
  now: number;
  onOpen: (side: Dispatch["caller"]) => void;
  onCancel: ((row: Dispatch) => void) | null; // null: the person may only read
}

/** The same as the picture, in words. */
export function RelayTable({ rows, here, now, onOpen, onCancel }: Props) {
  const { t } = useTranslation("relay");
  const end = (side: Dispatch["caller"]) => {
    const name = nameOf(side, here, t("hidden"));
    return endOf(side) === null ? <span className="t3">{name}</span> : <button type="button" className="link-btn" title={t("open", { name })} onClick={() => onOpen(side)}>{name}</button>;
  };
  return (
    <table className="relay-table" aria-label={t("title")}>
      <thead><tr><th scope="col">{t("column.caller")}</th><th scope="col">{t("column.target")}</th><th scope="col">{t("column.state")}</th><th scope="col" className="wide">{t("column.began")}</th><th scope="col" className="wide">{t("column.took")}</th>{onCancel && <th><span className="visually-hidden">{t("column.cancel")}</span></th>}</tr></thead>
      <tbody>
        {rows.map((row) => {
          const state = stateOf(row);
          const more = [row.reason, row.interims > 0 && t("interims", { count: row.interims }), row.sends > 1 && t("sends", { count: row.sends })].filter(Boolean).join(" · ");
          const target = nameOf(row.target, here, t("hidden"));
          return (
            <tr key={row.id}>
              <td>{end(row.caller)}</td>
              <td>{end(row.target)}</td>
              <td><span className="relay-state"><Ring state={LOOKS[state].ring} labelled={false} />{t(`state.${state}`)}</span>{more && <span className="sm t3 relay-more">{more}</span>}</td>
              <td className="wide t2">{when(row.createdAt, now)}</td>
              <td className="wide t2 num">{clock(waited(row, now))}</td>
              {onCancel && <td>{row.closedAt === null && <button type="button" className="icon-btn small" aria-label={t("cancel", { target })} title={t("cancel", { target })} onClick={() => onCancel(row)}><Icon name="x" size={14} /></button>}</td>}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
