import { Refusal } from './refusal.ts';

/** Bytes in another coding would become other words without anybody noticing. */
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The text of an answer, which upstream always writes in UTF-8. @throws Refusal `malformed` */
export function textOf(body: Buffer): string {
  try {
    return utf8.decode(body);
  } catch (cause) {
    throw new Refusal('malformed', 'HTTP 200 with a text that is not UTF-8', { cause });
  }
}
