import { Webhook } from 'standardwebhooks';
import { Agent, type Dispatcher, request } from 'undici';
import type { Clock } from '../../platform/clock.ts';
import { DAY_MS, MINUTE_MS } from '../../platform/durations.ts';
import { createSecretBox, type SecretBox } from '../../platform/secret-box.ts';
import type { Stores } from '../../platform/stores.ts';
import type { Attempt, ClaimedMessage, Sender, SendingLimits } from '../queue.ts';
import {
  type AddressGuard,
  AddressRefused,
  createAddressGuard,
  pinnedLookup,
  type Resolve,
} from './address-guard.ts';
import { ATTEMPT_TIMEOUT_MS, KEPT_DAYS } from './deliveries.ts';
import { signingSecrets } from './secrets.ts';
import { WEBHOOK_LIMITS } from './webhook-limits.ts';

export interface WebhookSenderDeps extends Pick<Stores, 'database' | 'clock' | 'log'> {
  /** The setting WEBHOOK_ALLOW_PRIVATE. */
  allowPrivate: boolean;
  secretBox?: SecretBox;
  limits?: SendingLimits;
  /** The setting PENDING_WEBHOOK_HOSTS_PER_ACCOUNT. */
  hostsPerAccount?: number;
  /** How host names are resolved. Default: by the system. */
  resolve?: Resolve;
}

/** A receiver that always takes the full time limit occupies at most a quarter of a process, an account at most half of it. */
const LIMITS = { atOnce: 16, perHost: 4, perAccount: 8 };

export const CLAIM_MS = MINUTE_MS;

/** Sends webhooks: signed requests to addresses that are not private. */
export function createWebhookSender(deps: WebhookSenderDeps): Sender {
  const { database, clock, log, secretBox = createSecretBox() } = deps;
  const { hostsPerAccount = WEBHOOK_LIMITS.hostsPerAccount } = deps;
  // Requests at the same time can exceed the limit on hosts, and so can batches that end.
  const { limits = { ...LIMITS, hostsPerAccount: 2 * hostsPerAccount } } = deps;
  const send = createSend({ guard: createAddressGuard(deps.allowPrivate, deps.resolve), clock });
  return {
    channel: 'webhook',
    accepted: 'delivered',
    claimMs: CLAIM_MS,
    limits,
    // A replay does not keep a delivery for longer.
    expiresAt: ({ createdAt }) => new Date(createdAt.getTime() + KEPT_DAYS * DAY_MS),

    async prepare(messages) {
      const accountIds = messages.map(({ accountId }) => accountId);
      const secrets = await signingSecrets(database, accountIds, clock.now(), {
        box: secretBox,
        onUnreadable: (accountId) => log.error({ accountId }, 'failed to decrypt a webhook secret'),
      });
      return async ({ id, accountId, recipient: url, payload }: ClaimedMessage) => {
        const signing = secrets.get(accountId) ?? [];
        if (signing.length === 0) return NO_SECRET;
        return send({ url, payload, headers: signedHeaders({ id, payload }, signing, clock.now()) });
      };
    },
  };
}

const NO_SECRET: Attempt = {
  status: null,
  error: 'The account has no signing secret.',
  isFinal: false,
  durationMs: 0,
  response: null,
};

/**
 * Returns the headers by which a receiver verifies the origin, time and id of a message (Standard Webhooks).
 * @param secrets all secrets that sign, so that a receiver can verify with any of them.
 * @param now the time of this attempt: receivers refuse signatures that are some minutes old, so each attempt has
 * its own.
 */
export function signedHeaders(
  { id, payload }: { id: string; payload: string },
  secrets: readonly string[],
  now: number,
): Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> {
  const at = new Date(now);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, payload)).join(' '),
  };
}

/** The rest of a response is not read; only its status counts. */
const MOST_READ_BYTES = 65_536;

/** How much of the response goes into the log. */
const EXCERPT_BYTES = 1_024;

/** Standard Webhooks: the receiver wants no more messages. */
const GONE = 410;

/** A request to a receiver. */
export interface Message {
  url: string;
  headers: Record<string, string>;
  payload: string;
}

/** Sends a message once, to an address that the guard allows, without following redirects. Never throws. */
type Send = (message: Message) => Promise<Attempt>;

export function createSend({ guard, clock }: { guard: AddressGuard; clock: Clock }): Send {
  return async (message) => {
    const startedAt = clock.now();
    const timeout = new AbortController();
    const cancel = clock.after(ATTEMPT_TIMEOUT_MS, () => timeout.abort(), 'webhook attempt');
    try {
      const answer = await attempt(guard, message, timeout.signal);
      const { status } = answer;
      return {
        ...answer,
        error: faultOf(status),
        isFinal: status === GONE,
        durationMs: clock.now() - startedAt,
      };
    } catch (error) {
      const fault = timeout.signal.aborted ? TOO_SLOW : connectionFault(error);
      return {
        status: null,
        error: fault,
        isFinal: false,
        durationMs: clock.now() - startedAt,
        response: null,
      };
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
