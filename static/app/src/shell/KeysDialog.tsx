import { Modal } from "@mantine/core";
import { useTranslation } from "react-i18next";
import { useActions } from "@/shared/keys/actions";
import { onMac, spell } from "@/shared/keys/combo";

/** All keys of this page: what the actions say, and the keys that belong to the message box. */
export function KeysDialog({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const { t } = useTranslation(["shell", "common"]);
  const actions = useActions((state) => state.actions);
  const mac = onMac();
  const rows: { group: string; label: string; keys: string }[] = [
    ...actions.filter((action) => action.keys?.length).map((action) => ({ group: action.group, label: action.label, keys: spell(action.keys?.[0] ?? "", mac) })),
    { group: t("group.session"), label: t("act.send"), keys: "Enter" },
    { group: t("group.session"), label: t("act.newline"), keys: "Shift Enter" },
    { group: t("group.session"), label: t("act.sendNow"), keys: spell("Mod+Enter", mac) },
    { group: t("group.session"), label: t("act.esc"), keys: "Esc" },
    { group: t("group.session"), label: t("act.editLast"), keys: spell("Alt+↑", mac) },
  ];
  const unique = rows.filter((row, index) => rows.findIndex((other) => other.label === row.label) === index);
  const groups = [...new Set(unique.map((row) => row.group))];
  return (
    <Modal opened={opened} onClose={onClose} title={t("keysHelp")} size={640} classNames={{ title: "dialog-title" }} closeButtonProps={{ "aria-label": t("common:act.close") }}>
      <div className="keys-grid">
        {groups.map((group) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>{unique.filter((row) => row.group === group).map((row) => <div key={row.label}><dt>{row.label}</dt><dd><kbd className="kbd">{row.keys}</kbd></dd></div>)}</dl>
          </section>
        ))}
      </div>
    </Modal>
  );
}
