import { isUtf8 } from 'node:buffer';

/** Decodes UTF-8; null if it is invalid. Replacing invalid bytes would change a term into another one. */
export function decode(bytes: Uint8Array): string | null {
  return isUtf8(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString() : null;
}
