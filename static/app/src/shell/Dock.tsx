import { DockviewReact, type DockviewApi, type DockviewReadyEvent, type DockviewTheme, type IDockviewPanelHeaderProps, type IDockviewPanelProps } from "dockview-react";
import "dockview-react/dist/styles/dockview.css";
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { Guard } from "@/shared/ui/Guard";
import { Icon } from "@/shared/ui/Icon";
import { isLight, useTheme } from "@/shared/theme/store";
import { ChatSlot } from "./ChatHost";
import { chatWidth, CHAT_MIN, EDITOR_MIN, fit, type LayoutName } from "./layouts";
import { NotBuilt } from "./NotBuilt";
import { dockChat, runPending, useDock } from "./dockStore";
import "./dock.css";

const components: Record<string, React.FunctionComponent<IDockviewPanelProps>> = {
  chat: () => <Guard><ChatSlot /></Guard>,
  editor: () => <NotBuilt what="editor" />,
  terminal: () => <NotBuilt what="terminal" small />,
};

const TITLES = {
  chat: { icon: "chat", word: "chat" },
  editor: { icon: "file", word: "files" },
  terminal: { icon: "term", word: "terminal" },
} as const;

/** Our tab: icon and name; double click maximises, as everywhere in the frame. */
function Tab({ api, containerApi }: IDockviewPanelHeaderProps) {
  const { t } = useTranslation("shell");
  const name = api.id === "terminal" || api.id === "chat" ? api.id : "editor";
  const label = t(`tab.${TITLES[name].word}`);
  useEffect(() => api.setTitle(label), [api, label]); // the dock names the tab by it
  const toggle = () => (api.isMaximized() ? containerApi.exitMaximizedGroup() : api.maximize());
  return (
    <div className="dock-tab" onDoubleClick={toggle}>
      <Icon name={TITLES[name].icon} size={14} />{label}
    </div>
  );
}

const themeOf = (light: boolean): DockviewTheme => ({ name: "halo", className: "dockview-theme-halo", colorScheme: light ? "light" : "dark", dndTabIndicator: "line", edgeGroupCollapsedSize: 36 });

function build(api: DockviewApi): void {
  api.addPanel({ id: "chat", component: "chat", tabComponent: "tab", renderer: "always", minimumWidth: CHAT_MIN });
  api.addPanel({ id: "editor", component: "editor", tabComponent: "tab", renderer: "always", minimumWidth: EDITOR_MIN, position: { referencePanel: "chat", direction: "left" } });
  api.addPanel({ id: "terminal", component: "terminal", tabComponent: "tab", renderer: "always", minimumHeight: 120, position: { referencePanel: "editor", direction: "below" } });
  const chat = api.getPanel("chat");
  if (chat) chat.group.header.hidden = true; // the chat draws its own strip: its tabs are sessions
}

/** Show, hide and size the three panels for a layout. They never move, so nothing is mounted twice. */
function arrange(api: DockviewApi, name: LayoutName): void {
  dockChat();
  const layout = fit(name, api.width);
  const [chat, editor, terminal] = ["chat", "editor", "terminal"].map((id) => api.getPanel(id));
  if (!chat || !editor || !terminal) return;
  editor.group.api.setVisible(layout.editor);
  terminal.group.api.setVisible(layout.terminal);
  if (!layout.editor && !layout.terminal) return;
  chat.group.api.setSize({ width: chatWidth(layout, api.width) });
  if (layout.editor && layout.terminal) terminal.group.api.setSize({ height: Math.round(api.height * layout.terminalShare) });
}

/** The dock: chat, editor and terminal groups, which can be dragged apart, sized, maximised and floated. */
export default function Dock({ layout, covered }: { layout: LayoutName; covered: boolean }) {
  const light = useTheme((state) => isLight(state.theme));
  const api = useRef<DockviewApi | null>(null);
  const name = useRef(layout);
  name.current = layout;

  const onReady = ({ api: dock }: DockviewReadyEvent) => {
    api.current = dock;
    build(dock);
    useDock.setState({ api: dock, chat: "docked" });
    let narrow: boolean | null = null;
    dock.onDidLayoutChange(() => {
      const now = dock.width < CHAT_MIN + EDITOR_MIN;
      if (dock.width > 0 && now !== narrow) {
        narrow = now;
        arrange(dock, name.current); // the room changed its kind: what no longer fits goes, what fits again comes back
      }
    });
    arrange(dock, name.current);
    runPending();
  };

  useEffect(() => {
    if (api.current && !covered && api.current.width > 0) arrange(api.current, layout);
  }, [layout, covered]);
  useEffect(() => () => useDock.setState({ api: null }), []);

  return <DockviewReact components={components} tabComponents={{ tab: Tab }} theme={themeOf(light)} onReady={onReady} className={`dock dock-${layout}`} disableTabsOverflowList />;
}
