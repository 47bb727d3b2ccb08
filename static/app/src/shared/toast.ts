/** Notices, bottom right, never for what the page shows already. */
import { notifications } from "@mantine/notifications";

export const toast = {
  say: (message: string): void => void notifications.show({ message, withBorder: true, color: "halo" }),
  error: (message: string): void => void notifications.show({ message, withBorder: true, color: "red", role: "alert" }),
};
