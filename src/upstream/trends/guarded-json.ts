import { parseJson } from '../../platform/json.ts';
import type { HttpResponse } from '../http-client.ts';
import { textOf } from './answer-text.ts';
import { Refusal } from './refusal.ts';

/** The prefix that keeps JSON from running as a script: with or without a comma, and one or two line feeds. */
const GUARD = /^\)\]\}',?\n{1,2}/;

/** Parses the JSON behind the guard. @throws Refusal `malformed` for anything else, such as a web page. */
export function readGuarded({ contentType, body }: Pick<HttpResponse, 'contentType' | 'body'>): unknown {
  if (!/^application\/json\b/i.test(contentType))
    throw new Refusal('malformed', `HTTP 200 with ${contentType}`);
  return parse(guardedText(body));
}

/** Returns the text behind the guard. */
export function guardedText(body: Buffer): string {
  const text = textOf(body);
  const [guard] = GUARD.exec(text) ?? [];
  if (guard === undefined) throw new Refusal('malformed', 'HTTP 200 without the guard before its JSON');
  return text.slice(guard.length);
}

function parse(text: string): unknown {
  try {
    return parseJson(text);
  } catch (cause) {
    throw new Refusal('malformed', 'HTTP 200 with JSON that breaks off', { cause });
  }
}
