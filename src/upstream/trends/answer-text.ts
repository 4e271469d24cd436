import { Refusal } from './refusal.ts';

/** Fatal, because wrongly decoded bytes would silently become other words. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** Decodes the text of an answer, which is always UTF-8. @throws Refusal `malformed` */
export function textOf(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch (cause) {
    throw new Refusal('malformed', 'HTTP 200 with a text that is not UTF-8', { cause });
  }
}
