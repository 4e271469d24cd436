import { Agent, type Dispatcher, request } from 'undici';
import type { Clock } from '../platform/clock.ts';
import { type AddressGuard, AddressRefused, pinnedLookup } from './address-guard.ts';

/** How long one attempt may take, from looking up the name to the last byte of the answer. */
export const ATTEMPT_TIMEOUT_MS = 10_000;

/** No more of an answer is read; what it says does not matter, only its status. */
const MOST_READ_BYTES = 65_536;

/** How much of it goes into the log. */
const EXCERPT_BYTES = 1_024;

/** One request to a receiver. */
export interface Message {
  url: string;
  headers: Record<string, string>;
  payload: string;
}

/** What became of it. */
export interface Outcome {
  /** What the receiver answered; null when it gave no answer. */
  status: number | null;
  /** A sentence for the account; null when the receiver took the message. */
  error: string | null;
  durationMs: number;
  /** The beginning of the answer's body; null where there was none to read. */
  response: string | null;
}

/** Sends a message once, to an address the guard has approved of, and follows no redirect. Never throws. */
export type Send = (message: Message) => Promise<Outcome>;

export function createSend({ guard, clock }: { guard: AddressGuard; clock: Clock }): Send {
  return async (message) => {
    const startedAt = clock.now();
    const timeout = new AbortController();
    const cancel = clock.after(ATTEMPT_TIMEOUT_MS, () => timeout.abort(), 'webhook attempt');
    try {
      const answer = await attempt(guard, message, timeout.signal);
      return { ...answer, error: faultOf(answer.status), durationMs: clock.now() - startedAt };
    } catch (error) {
      const fault = timeout.signal.aborted ? TOO_SLOW : connectionFault(error);
      return { status: null, error: fault, durationMs: clock.now() - startedAt, response: null };
    } finally {
      cancel();
    }
  };
}

const TOO_SLOW = `The receiver did not answer within ${ATTEMPT_TIMEOUT_MS / 1000} seconds.`;

async function attempt(guard: AddressGuard, message: Message, signal: AbortSignal) {
  const url = new URL(message.url);
  const addresses = await unlessAborted(guard.addressesOf(url), signal);
  // An agent for one request: no connection is left that a later one could find itself on.
  const agent = new Agent({
    connect: {
      lookup: pinnedLookup(addresses),
      timeout: 0,
      // Of several addresses each gets this long, instead of a quarter of a second that far receivers need to answer.
      autoSelectFamilyAttemptTimeout: 2_500,
    },
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  try {
    const response = await request(url, {
      method: 'POST',
      dispatcher: agent,
      signal,
      headers: { 'content-type': 'application/json', 'user-agent': 'Souk-Webhooks', ...message.headers },
      body: message.payload,
    });
    return { status: response.statusCode, response: await excerptOf(response) };
  } finally {
    await agent.destroy();
  }
}

/** The beginning of an answer's body. One that breaks off, or does not end in time, has told its status all the same. */
async function excerptOf({ body }: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body) {
      chunks.push((chunk as Buffer).subarray(0, Math.max(0, EXCERPT_BYTES - bytes)));
      bytes += (chunk as Buffer).length;
      if (bytes >= MOST_READ_BYTES) break;
    }
  } catch {
    // What has come until then is what there is to show.
  }
  // A character that the cut has halved is left out; a database takes no text with a null character in it.
  return new TextDecoder().decode(Buffer.concat(chunks), { stream: true }).replaceAll('\0', '\uFFFD');
}

function faultOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  const reason = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  return `The receiver answered with status ${status}${reason}.`;
}

/** In words that tell an account what it can act on, and nothing of our network. */
function connectionFault(error: unknown): string {
  if (error instanceof AddressRefused) return `The address ${error.message}.`;
  const code = codeOf(error);
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'ENODATA')
    return `The host name could not be resolved (${code}).`;
  return `The receiver could not be reached${code ? ` (${code})` : ''}.`;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // Of several addresses that were tried the last one says as much as the first.
  const inner = error instanceof AggregateError ? error.errors.at(-1) : error.cause;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : codeOf(inner);
}

/** Looking up a name cannot be aborted, but need not be waited for. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new Error('aborted'));
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
