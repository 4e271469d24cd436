import { WebhookError } from './errors.ts';
import type { OperationName, Schemas } from './generated/operations.ts';
import { parseJson } from './json.ts';

/** What the service sends to a webhook. */
export type WebhookEvent = (
  | { type: 'job.completed'; timestamp: string; data: CompletedJob }
  | { type: 'batch.completed'; timestamp: string; data: Schemas['Batch'] }
  | {
      type: 'tracker.alert';
      timestamp: string;
      data: { trackerId: string; name: string; alerts: Schemas['TrackerAlert'][] };
    }
  | { type: 'webhook.test'; timestamp: string; data: Record<string, unknown> }
) & {
  /** false: the event is of a test account. Absent in events of earlier versions of the service. */
  livemode?: boolean;
};

export interface CompletedJob {
  jobId: string;
  operation: OperationName;
  state: 'done' | 'failed' | 'cancelled';
  unitsCharged: number;
  error: { code: string; msg: string } | null;
  links: { self: string; result: string };
}

/** A webhook as it was received. */
export interface ReceivedWebhook {
  /** The body as it was sent: parsing and writing it again changes it. */
  body: string | Uint8Array;
  headers: Headers | Readonly<Record<string, string | readonly string[] | undefined>>;
}

export interface VerifyOptions {
  /** How old an event may be. Default: five minutes. */
  toleranceMs?: number;
}

const TOLERANCE_MS = 300_000;

/**
 * Checks the signature and the time of a webhook (Standard Webhooks), and returns its event.
 * @param secret the signing secret, `whsec_...`.
 * @throws WebhookError
 */
export async function verifyWebhook(
  { body, headers }: ReceivedWebhook,
  secret: string,
  { toleranceMs = TOLERANCE_MS }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const id = headerOf(headers, 'webhook-id');
  const timestamp = headerOf(headers, 'webhook-timestamp');
  const signatures = headerOf(headers, 'webhook-signature');
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() - Number(timestamp) * 1_000) > toleranceMs)
    throw new WebhookError(`the timestamp is not within ${toleranceMs} ms of the present time`);
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${text}`);
  const key = await keyOf(secret);
  for (const signature of signatures.split(' ')) {
    const [version, encoded = ''] = signature.split(',');
    if (version !== 'v1') continue;
    if (await crypto.subtle.verify('HMAC', key, bytesOf(encoded), signed))
      return parseJson(text) as WebhookEvent;
  }
  throw new WebhookError('no signature of the event was made with this secret');
}

function keyOf(secret: string): Promise<CryptoKey> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const bytes = bytesOf(secret.replace(/^whsec_/, ''));
  if (bytes.length === 0) throw new WebhookError('the secret must be whsec_ and base64');
  return crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify']);
}

/** Decodes base64; returns no bytes for other text. */
function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function headerOf(headers: ReceivedWebhook['headers'], name: string): string {
  const value = headers instanceof Headers ? headers.get(name) : findHeader(headers, name);
  if (typeof value !== 'string' || value === '') throw new WebhookError(`the header ${name} is missing`);
  return value;
}

function findHeader(headers: Readonly<Record<string, unknown>>, name: string): unknown {
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(value) ? value[0] : value;
}
