/** The ring: one glyph for state, in every list, tab, card and title. Shape and colour differ, so it reads without colour. */
import { useTranslation } from "react-i18next";
import "./ring.css";

export type RingState = "idle" | "run" | "wait" | "new" | "ok" | "warn" | "err" | "off";

const ORDER: readonly RingState[] = ["warn", "err", "run", "new", "wait", "ok", "idle", "off"];

/** The state of a group: needs you > failed > at work > unseen > waiting > good > idle. */
export const groupState = (states: readonly RingState[]): RingState => ORDER.find((state) => states.includes(state)) ?? "idle";

const SHAPES: Record<RingState, React.ReactNode> = {
  idle: <circle cx="6" cy="6" r="5.25" className="ring-line" />,
  run: null, // the halo itself: a conic gradient needs CSS
  wait: <circle cx="6" cy="6" r="5.25" className="ring-dots" />,
  new: <circle cx="6" cy="6" r="4" className="ring-fill" />,
  ok: (<><circle cx="6" cy="6" r="5.25" className="ring-line" /><circle cx="6" cy="6" r="2.5" className="ring-fill" /></>),
  warn: (<><circle cx="6" cy="6" r="5.25" className="ring-line" /><rect x="5.25" y="3" width="1.5" height="6" rx="0.75" className="ring-fill" /></>),
  err: (<><circle cx="6" cy="6" r="6" className="ring-fill" /><rect x="3" y="5.2" width="6" height="1.6" rx="0.8" className="ring-hole" /></>),
  off: (<><circle cx="6" cy="6" r="5.25" className="ring-line" /><path d="M2.2 9.8 9.8 2.2" className="ring-line" /></>),
};

interface Props {
  state: RingState;
  size?: number;
  /** false where the word stands beside it anyway. */
  labelled?: boolean;
}

export function Ring({ state, size = 12, labelled = true }: Props) {
  const { t } = useTranslation("common");
  const label = labelled ? { role: "img", "aria-label": t(`ring.${state}`) } : { "aria-hidden": true };
  return state === "run" ? (
    <span className="ring ring-run" style={{ width: size, height: size }} {...label} />
  ) : (
    <svg className={`ring ring-${state}`} width={size} height={size} viewBox="0 0 12 12" {...label}>
      {SHAPES[state]}
    </svg>
  );
}
