/**
 * A sound when an agent has finished, and a notice besides while nobody looks: window in the background or another
 * tab in front. Off until a person switches it on; kept in this browser. Source: spec spa 15.
 */
import { create } from "zustand";

import { storage } from "@/shared/storage";
import { busy, type View } from "./model";

type Views = Readonly<Record<string, View>>;

export const useChime = create<{ on: boolean }>()(() => ({ on: storage.get("halo_notify_on_finish") === "1" }));

/** Sessions that were at work and are not any more. A session that is no longer open has not finished. */
export const finished = (before: Views, after: Views): string[] =>
  before === after ? [] : Object.keys(before).filter((id) => busy(before[id]!) && after[id] !== undefined && !busy(after[id]));

/**
 * Ask for notices in the click that switches the sound on; false = refused, it stays off.
 * A browser without notices (a page that is not secure) still sounds.
 */
export async function setChime(on: boolean): Promise<boolean> {
  if (on && "Notification" in window && window.isSecureContext && (await Notification.requestPermission()) === "denied") return false;
  storage.set("halo_notify_on_finish", on ? "1" : "0");
  useChime.setState({ on });
  if (on) sound();
  return true;
}

const TONES = [659.25, 880]; // Hz: E5, A5
const TONE = 0.16; // s

function sound(): void {
  const context = new AudioContext();
  TONES.forEach((hertz, place) => {
    const tone = context.createOscillator();
    const volume = context.createGain();
    const from = context.currentTime + place * TONE;
    tone.frequency.value = hertz;
    volume.gain.setValueAtTime(0.12, from);
    volume.gain.exponentialRampToValueAtTime(0.001, from + TONE * 2);
    tone.connect(volume).connect(context.destination);
    tone.start(from);
    tone.stop(from + TONE * 2);
    if (place === TONES.length - 1) tone.onended = () => void context.close();
  });
}

/** Somebody has this page in front of them. */
const watched = (): boolean => document.visibilityState === "visible" && document.hasFocus();

/** Sound, and for who looks elsewhere a notice that leads back here. `title` names the session. */
export function announceFinish(title: string, words: string, open: () => void): void {
  if (!useChime.getState().on) return;
  sound();
  if (watched() || !("Notification" in window) || Notification.permission !== "granted") return;
  const notice = new Notification(words, { body: title });
  notice.onclick = () => {
    window.focus();
    open();
    notice.close();
  };
}
