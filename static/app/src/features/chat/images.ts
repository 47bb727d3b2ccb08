/** Pictures for a message: made smaller in the browser, sent up, named by id. */
import { uploadImage } from "./api";

export const LONG_EDGE = 1568; // px; vision models gain nothing above it
export const QUALITY = 0.85;
export const MOST_IMAGES = 5;

/** Size after scaling the long edge down to `limit`; small pictures keep theirs. */
export function fitted(width: number, height: number, limit = LONG_EDGE): { width: number; height: number } {
  const factor = Math.min(1, limit / Math.max(width, height, 1));
  return { width: Math.max(1, Math.round(width * factor)), height: Math.max(1, Math.round(height * factor)) };
}

/** A JPEG with a long edge of at most 1568 px; the file as it is when the browser cannot read or encode it. */
export async function shrink(file: Blob): Promise<Blob> {
  try {
    const bitmap = await createImageBitmap(file);
    const size = fitted(bitmap.width, bitmap.height);
    const canvas = document.createElement("canvas");
    canvas.width = size.width;
    canvas.height = size.height;
    const context = canvas.getContext("2d");
    if (!context) return file;
    context.fillStyle = "#ffffff"; // JPEG knows no transparency
    context.fillRect(0, 0, size.width, size.height);
    context.drawImage(bitmap, 0, 0, size.width, size.height);
    bitmap.close();
    const made = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/jpeg", QUALITY));
    return made ?? file;
  } catch {
    return file; // a kind of picture this browser cannot draw: the server looks at the bytes
  }
}

export interface Attachment {
  key: string;
  url: string; // object URL of what is sent
  id: string | null; // null while it goes up
  error: string | null;
}

let serial = 0;

/** Begin to send one picture up; `change` is called with what becomes of it. Returns the attachment and its cancel. */
export function attach(workspace: string, file: File, change: (next: Attachment) => void): { first: Attachment; cancel: () => void } {
  const abort = new AbortController();
  const first: Attachment = { key: `image-${(serial += 1)}`, url: URL.createObjectURL(file), id: null, error: null };
  void (async () => {
    try {
      const small = await shrink(file);
      const name = small === file ? file.name : `${file.name.replace(/\.[^.]*$/, "")}.jpg`;
      const { id } = await uploadImage(workspace, small, name || "image.jpg", abort.signal);
      change({ ...first, id });
    } catch (cause) {
      if (!abort.signal.aborted) change({ ...first, error: cause instanceof Error ? cause.message : String(cause) });
    }
  })();
  return { first, cancel: () => abort.abort() };
}

/** Image files of a paste or a drop; the second value says whether there was anything else. */
export function imagesIn(data: DataTransfer | null): [File[], boolean] {
  const files = [...(data?.files ?? [])];
  const images = files.filter((file) => file.type.startsWith("image/"));
  return [images, images.length < files.length];
}
