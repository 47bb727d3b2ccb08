/** Mantine speaks our tokens: one theme, one resolver. Components read tokens, never hex. */
import {
  ActionIcon,
  Badge,
  Button,
  createTheme,
  Modal,
  Tooltip,
  type CSSVariablesResolver,
  type MantineColorsTuple,
  type MantineColorSchemeManager,
} from "@mantine/core";
import { isLight, useTheme } from "./store";

const halo: MantineColorsTuple = [
  "#f0f2ff", "#dfe3ff", "#bfc8ff", "#9aa8ff", "#7b8bf4", "#5363e0", "#4858dc", "#4050cf", "#3442ac", "#28338a",
];

export const theme = createTheme({
  primaryColor: "halo",
  colors: { halo },
  primaryShade: { light: 6, dark: 5 },
  fontFamily: "var(--font)",
  fontFamilyMonospace: "var(--mono)",
  fontSizes: { xs: "11px", sm: "12px", md: "13px", lg: "14px", xl: "16px" },
  lineHeights: { md: "1.5" },
  headings: {
    fontWeight: "600",
    sizes: { h1: { fontSize: "20px", lineHeight: "28px" }, h2: { fontSize: "18px", lineHeight: "26px" }, h3: { fontSize: "15px", lineHeight: "22px" } },
  },
  spacing: { xs: "4px", sm: "8px", md: "12px", lg: "16px", xl: "24px" },
  radius: { xs: "4px", sm: "5px", md: "6px", lg: "8px", xl: "12px" },
  defaultRadius: "md",
  cursorType: "pointer",
  respectReducedMotion: true,
  focusRing: "auto",
  components: {
    Button: Button.extend({ defaultProps: { size: "xs" } }),
    ActionIcon: ActionIcon.extend({ defaultProps: { size: 28, variant: "subtle", color: "gray" } }),
    Badge: Badge.extend({ defaultProps: { radius: "xs", tt: "none" } }),
    Tooltip: Tooltip.extend({ defaultProps: { openDelay: 500 } }),
    Modal: Modal.extend({ defaultProps: { radius: "xl", centered: true, transitionProps: { duration: 180 } } }),
  },
});

export const cssVariables: CSSVariablesResolver = () => {
  const both = {
    "--mantine-color-body": "var(--bg1)",
    "--mantine-color-text": "var(--t1)",
    "--mantine-color-dimmed": "var(--t3)",
    "--mantine-color-placeholder": "var(--t3)",
    "--mantine-color-default": "var(--bg2)",
    "--mantine-color-default-hover": "var(--bg3)",
    "--mantine-color-default-color": "var(--t1)",
    "--mantine-color-default-border": "var(--line2)",
    "--mantine-color-error": "var(--err)",
    "--mantine-color-anchor": "var(--accent)",
    "--mantine-primary-color-filled": "var(--solid)",
    "--mantine-primary-color-filled-hover": "var(--solid-h)",
    "--mantine-color-gray-light-hover": "var(--bg3)",
    "--mantine-color-gray-light-color": "var(--t2)",
  };
  return { variables: {}, light: both, dark: both };
};

/** Mantine asks us for the scheme, so there is one owner of the theme. */
export const schemeManager: MantineColorSchemeManager = {
  get: () => (isLight(useTheme.getState().theme) ? "light" : "dark"),
  set: () => undefined,
  subscribe: () => undefined,
  unsubscribe: () => undefined,
  clear: () => undefined,
};
