import { ICONS, type IconName } from "./icons";

interface Props {
  name: IconName;
  /** Pixels; 16 is the size of chrome. */
  size?: number;
  className?: string;
}

/** Decoration only: the text or label beside it names the thing. */
export const Icon = ({ name, size = 16, className }: Props) => (
  <svg className={className ? `icon ${className}` : "icon"} width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
    {ICONS[name]}
  </svg>
);
