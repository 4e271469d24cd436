import { isUtf8 } from 'node:buffer';

/** The text of some bytes; null when they are no UTF-8: what is replaced in a term would make it another one. */
export function decode(bytes: Uint8Array): string | null {
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString() : null;
}
