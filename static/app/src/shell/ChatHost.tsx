/**
 * The chat is mounted once per workspace, into an element of its own; the frame moves that element into whatever slot
 * is on the screen (dock, beside a page, phone). So drafts, scroll and streams survive every change of layout.
 */
import { useEffect, useLayoutEffect, useRef, useState, type ReactNode } from "react";
import { createPortal } from "react-dom";

const host = document.createElement("div");
host.className = "chat-host";

/** Renders the chat into the host; place it once, anywhere. */
export const ChatHost = ({ children }: { children: ReactNode }) => createPortal(children, host);

/** Where the chat is to be seen. The slot mounted last has it; when that one goes, the one before gets it back. */
const slots: HTMLElement[] = [];
let scrolled: [Element, number][] = [];

/** A node that is moved forgets how far it was scrolled: look before it leaves, put it back when it is placed. */
const noteScroll = (): void => {
  if (host.isConnected) scrolled = [...host.querySelectorAll("*")].filter((one) => one.scrollTop > 0).map((one) => [one, one.scrollTop]);
};

const place = (): void => {
  const top = slots.at(-1);
  if (!top || host.parentElement === top) return;
  noteScroll();
  top.appendChild(host);
  for (const [element, offset] of scrolled) element.scrollTop = offset;
};

export function ChatSlot() {
  const slot = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = slot.current;
    if (!element) return undefined;
    slots.push(element);
    place();
    return () => {
      noteScroll();
      slots.splice(slots.indexOf(element), 1);
      place();
    };
  }, []);
  return <div className="chat-slot" ref={slot} />;
}

export type Width = "phone" | "tablet" | "desktop";
const widthOf = (pixels: number): Width => (pixels < 768 ? "phone" : pixels < 1200 ? "tablet" : "desktop");

/** phone < 768 <= tablet < 1200 <= desktop */
export function useWidth(): Width {
  const [width, setWidth] = useState(() => widthOf(window.innerWidth));
  useEffect(() => {
    const look = () => setWidth(widthOf(window.innerWidth));
    window.addEventListener("resize", look);
    return () => window.removeEventListener("resize", look);
  }, []);
  return width;
}
