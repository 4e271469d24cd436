import type { ExampleRequest } from '../kit/call-examples.tsx';

/** The address of the service in the examples of guides. */
const SERVICE = '$SOUK_URL';

/** Options of curl that do not change the request. */
const HARMLESS = new Set(['--compressed', '-s', '-sS', '-f']);

/** Headers that every example in another language has, too. */
const USUAL_HEADERS = ['X-API-Key: $SOUK_API_KEY', 'Content-Type: application/json'];

/**
 * Reads an example of a guide that is one curl command with the key of the reader. Returns null for any other example, such as
 * one with a variable, a further header or a second command.
 */
export function requestOfCurl(example: string): ExampleRequest | null {
  const [command, ...words] = wordsOf(example);
  if (command !== 'curl' || !words.includes(USUAL_HEADERS[0] ?? '')) return null;
  let method = '';
  let url = '';
  let text: string | undefined;
  while (words.length > 0) {
    const word = words.shift() ?? '';
    if (HARMLESS.has(word)) continue;
    if (word === '-X') method = words.shift() ?? '';
    else if (word === '-d') text = words.shift();
    else if (word === '-H' && USUAL_HEADERS.includes(words[0] ?? '')) words.shift();
    else if (word.startsWith(SERVICE) && url === '') url = word.slice(SERVICE.length);
    else return null;
  }
  const body = text === undefined ? undefined : jsonOf(text);
  if (body === null || !url.startsWith('/') || /[$<>{}]/.test(url)) return null;
  return { method: method || (body === undefined ? 'GET' : 'POST'), url, ...(body ? { body } : {}) };
}

/** Returns null for a text that is not a JSON object. */
function jsonOf(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? value : null;
  } catch {
    return null;
  }
}

/** The words of a shell command, without their quotes. */
function wordsOf(command: string): string[] {
  const words = command.replaceAll('\\\n', ' ').matchAll(/(?:'[^']*'|"[^"]*"|[^\s'"])+|\n/g);
  return [...words].map(([word]) => word.replace(/'([^']*)'|"([^"]*)"/g, (_, a, b) => a ?? b));
}
