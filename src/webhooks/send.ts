import { Agent, type Dispatcher, request } from 'undici';
import type { Clock } from '../platform/clock.ts';
import { type AddressGuard, AddressRefused, pinnedLookup } from './address-guard.ts';

/** The time limit of one attempt, from the name lookup to the last byte of the response. */
export const ATTEMPT_TIMEOUT_MS = 10_000;

/** The rest of a response is not read; only its status counts. */
const MOST_READ_BYTES = 65_536;

/** How much of the response goes into the log. */
const EXCERPT_BYTES = 1_024;

/** A request to a receiver. */
export interface Message {
  url: string;
  headers: Record<string, string>;
  payload: string;
}

/** The outcome of an attempt. */
export interface Outcome {
  /** The status of the response; null if there was none. */
  status: number | null;
  /** A sentence for the account; null if the receiver accepted the message. */
  error: string | null;
  durationMs: number;
  /** The beginning of the response body; null if there was none to read. */
  response: string | null;
}

/** Sends a message once, to an address that the guard allows, without following redirects. Never throws. */
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
  const addresses = await guard.addressesOf(url, signal);
  // An agent for one request, so that no later request reuses its connection.
  const agent = new Agent({
    connect: {
      lookup: pinnedLookup(addresses),
      timeout: 0,
      // The time for each of several addresses. The default of a quarter of a second is too short for distant
      // receivers.
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

/** Returns the beginning of a response body. If the body breaks off or takes too long, the status still counts. */
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
    // Return what has arrived so far.
  }
  // `stream` drops a character that the limit has cut. PostgreSQL accepts no text with a null character.
  return new TextDecoder().decode(Buffer.concat(chunks), { stream: true }).replaceAll('\0', '\uFFFD');
}

function faultOf(status: number): string | null {
  if (status >= 200 && status < 300) return null;
  const reason = status >= 300 && status < 400 ? ', and redirects are not followed' : '';
  return `The receiver responded with status ${status}${reason}.`;
}

/** Codes of name lookups: no such name, no address, a name server that refuses, fails or does not answer. */
const LOOKUP_CODES: readonly string[] = [
  'ENOTFOUND',
  'ENODATA',
  'EREFUSED',
  'ESERVFAIL',
  'ETIMEOUT',
  'EBADNAME',
  'EBADRESP',
];

/** Describes a connection error in terms the account can act on, without details of our network. */
function connectionFault(error: unknown): string {
  if (error instanceof AddressRefused) return `The address ${error.message}.`;
  const code = codeOf(error);
  if (LOOKUP_CODES.includes(code)) return `The host name could not be resolved (${code}).`;
  return `The receiver could not be reached${code ? ` (${code})` : ''}.`;
}

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return '';
  // If several addresses were tried, the last error stands for all.
  const inner = error instanceof AggregateError ? error.errors.at(-1) : error.cause;
  const { code } = error as NodeJS.ErrnoException;
  return typeof code === 'string' ? code : codeOf(inner);
}
