import { Menu } from "@mantine/core";
import { useTranslation } from "react-i18next";

import { errorText } from "@/api/client";
import { markdownUrl, readMarkdown } from "@/api/sessions";
import { copyText } from "@/shared/copy";
import { toast } from "@/shared/toast";
import { Icon } from "@/shared/ui/Icon";

/** Items of a session's menu: the whole of it as Markdown, made by the server, however little of it is loaded here. */
export function ExportItems({ workspace, id }: { workspace: string; id: string }) {
  const { t } = useTranslation("chat");
  const copy = async (): Promise<void> => {
    try {
      if (await copyText(await readMarkdown(workspace, id))) toast.say(t("copied"));
      else toast.error(t("copyFailed"));
    } catch (cause) {
      toast.error(errorText(cause));
    }
  };
  return (
    <>
      <Menu.Item leftSection={<Icon name="copy" size={14} />} onClick={() => void copy()}>{t("menu.copyMarkdown")}</Menu.Item>
      <Menu.Item component="a" href={markdownUrl(workspace, id)} download leftSection={<Icon name="dl" size={14} />}>{t("menu.download")}</Menu.Item>
    </>
  );
}
