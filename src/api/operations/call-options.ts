import type { FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import Negotiator from 'negotiator';
import { z } from 'zod';
import type { WebhookSettings } from '../../batches/limits.ts';
import { inputOn, type QueuedOperation, type Route } from '../../operations/define.ts';
import { faultsIn } from '../../operations/faults.ts';
import { isRecord, parametersIn } from '../../operations/params/request.ts';
import { boolean, integer, oneOf } from '../../operations/params/scalars.ts';
import { SYNC_PATIENCE_MS } from '../../operations/pools.ts';
import {
  mediaTypeOf,
  TABLE_FORMAT_NAMES,
  TABLE_FORMATS,
  type TableFormat,
} from '../../operations/tables/formats.ts';
import { chooseTable } from '../../operations/tables/tables.ts';
import { watchJob } from '../../outbox/webhooks/job-webhooks.ts';
import { WEBHOOK_LIMITS, webhookUrl } from '../../outbox/webhooks/webhook-limits.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/pool.ts';
import { invalidParameters } from '../../platform/errors.ts';
import { stringifyJson } from '../../platform/json.ts';
import { retryDuringOutage } from '../../platform/outage.ts';

/** Returns the canonical input of a request to an operation. @throws SoukError VALIDATION_FAILED or SELECTION_INVALID, naming every invalid parameter. */
export function parseInput<Input>(
  operation: Pick<QueuedOperation<string, Input>, 'params' | 'onDay' | 'invalidKind'>,
  route: Route,
  request: FastifyRequest,
  now: number,
): Input {
  const { query, body, params } = request as {
    query: Record<string, unknown>;
    body: unknown;
    params: Record<string, unknown>;
  };
  if (route.method === 'POST' && !operation.invalidKind) refuseOptionsIn(body);
  const inQuery = route.method === 'GET' ? query : body;
  const sent = route.decode ? route.decode({ query, body, params }) : inQuery;
  const isQuery = route.method === 'GET' && !route.jsonParameter && isRecord(sent);
  const raw = isQuery
    ? parametersIn(sent, operation.params)
    : withFieldsOf(query, sent, operation.invalidKind);
  return inputOn(operation, parseAs(operation.params, raw, operation.invalidKind), now);
}

/** Refuses options that only a query may have. They would be ignored otherwise, and the call be charged. A selection refuses them itself. */
function refuseOptionsIn(body: unknown): void {
  const names = [...Object.keys(callOptionsSchema.shape), 'format', 'table', 'webhook'];
  const problem = 'must be in the query: the body has the parameters of the operation only';
  const found = isRecord(body) ? names.filter((name) => body[name] !== undefined) : [];
  if (found.length > 0) throw invalidParameters(found.map((parameter) => ({ parameter, problem })));
}

/** Adds the fields in a query to parameters that come from a body or a selection. */
function withFieldsOf(
  { fields }: Record<string, unknown>,
  sent: unknown,
  invalidKind?: 'SELECTION_INVALID',
): unknown {
  if (fields === undefined || !isRecord(sent) || sent.fields === fields) return sent;
  if (sent.fields === undefined) return { ...sent, fields };
  const problem = 'must be sent once: in the query, or with the other parameters';
  throw invalidParameters([{ parameter: 'fields', problem }], invalidKind);
}

/** Parses a value with a schema. @throws SoukError naming every invalid parameter. */
export function parseAs<Value>(
  schema: z.ZodType<Value>,
  raw: unknown,
  invalidKind?: 'SELECTION_INVALID',
): Value {
  const result = schema.safeParse(raw);
  if (result.success) return result.data;
  throw invalidParameters(faultsIn(result.error), invalidKind);
}

/** Options of a call. They are always in the query, because a body holds the operation's own parameters. */
export interface CallOptions {
  preference: Preference;
  /** Return the price of the call and whether it would be accepted, without making the call. */
  dryRun: boolean;
  /** Refuse the call if it costs more units; null: no limit. */
  maxUnits: number | null;
}

// Built once, because building a schema takes longer than most requests.
export const callOptionsSchema = z.object({
  async: boolean().optional().describe('Return a job immediately, like Prefer: respond-async'),
  dryRun: boolean()
    .default(false)
    .describe('Return the price of the call and whether it would be accepted, without making the call'),
  maxUnits: integer({ min: 0 })
    .nullable()
    .default(null)
    .meta({ description: 'Refuse the call if it costs more units than this', examples: [100] }),
});

const NO_OPTIONS = { async: false, dryRun: false, maxUnits: null };

/** @throws SoukError VALIDATION_FAILED. */
export function callOptionsOf(
  request: Pick<FastifyRequest, 'headers' | 'query'>,
  timeoutMs: number,
): CallOptions {
  const query = request.query as Record<string, unknown>;
  const given = query.async !== undefined || query.dryRun !== undefined || query.maxUnits !== undefined;
  const { async = false, dryRun, maxUnits } = given ? parseAs(callOptionsSchema, query) : NO_OPTIONS;
  return { preference: preferenceOf(request.headers.prefer, async, timeoutMs), dryRun, maxUnits };
}

// Built once, because building a schema takes longer than most requests.
const schemas = { private: webhookUrl(true), public: webhookUrl(false) };

/** Returns the field `webhook` of a query or body: the address that receives the completion of the call, or null. @throws SoukError VALIDATION_FAILED. */
export function callWebhookOf({ allowPrivate }: WebhookSettings, fields: unknown): string | null {
  const { webhook } = fields as Record<string, unknown>;
  if (webhook === undefined) return null;
  const url = (allowPrivate ? schemas.private : schemas.public).safeParse(webhook);
  if (url.success) return url.data;
  throw invalidParameters(
    url.error.issues.map(({ message }) => ({ parameter: 'webhook', problem: message })),
  );
}

/**
 * Registers the webhook of an accepted call. Runs before the call is charged.
 * @throws SoukError LIMIT_REACHED for a joined call that has as many webhooks as are allowed. A call that costs units is not
 * refused here.
 */
export async function watchCall(
  { clock, database, webhooks }: { clock: Clock; database: Database; webhooks: WebhookSettings },
  { accountId, callId, kind }: { accountId: number; callId: string; kind: string },
  url: string,
): Promise<void> {
  const { perCall } = webhooks.limits ?? WEBHOOK_LIMITS;
  const most = kind === 'joined' ? perCall : null;
  await retryDuringOutage(clock, () => watchJob(database, { accountId, callId, url }, clock.now(), most));
}

/** How long a caller wants to wait for an answer. */
export interface Preference {
  /** Return the job immediately. */
  async: boolean;
  /** Return the job after this time. The maximum is slightly above the time limit of the pool. */
  waitMs: number;
  /** The applied preference, for the header Preference-Applied. */
  applied: string | null;
}

// Built once, because building a schema takes longer than most requests.
const waitSchema = integer({ min: 0 });

/** Reads `Prefer: respond-async` and `Prefer: wait=N` (RFC 7240, seconds). @param asked whether the request has `async=1`. */
function preferenceOf(prefer: string | string[] | undefined, asked: boolean, timeoutMs: number): Preference {
  const patienceMs = timeoutMs + SYNC_PATIENCE_MS;
  if (prefer === undefined) return { async: asked, waitMs: patienceMs, applied: null };

  const preferences = [prefer]
    .flat()
    .join(',')
    .split(',')
    // Parameters after a semicolon are ignored.
    .map((entry) => (entry.split(';', 1)[0] ?? '').trim().toLowerCase());
  const respondAsync = preferences.includes('respond-async');
  const waitSeconds = waitSchema.safeParse(
    preferences
      .find((entry) => /^wait\s*=/.test(entry))
      ?.split('=')[1]
      ?.replaceAll('"', ''),
  );
  if (respondAsync) return { async: true, waitMs: 0, applied: 'respond-async' };
  if (!waitSeconds.success) return { async: asked, waitMs: patienceMs, applied: null };
  return {
    async: asked,
    waitMs: Math.min(waitSeconds.data * 1000, patienceMs),
    applied: `wait=${waitSeconds.data}`,
  };
}

/**
 * Keeps the canonical inputs of GET requests, so that an address that was requested before is parsed once. An input depends on the
 * address alone, and on the day for some operations; a refused request is never kept.
 */
export interface ParsedRequests {
  /**
   * Returns the input of a request. An input that requests share is frozen.
   * @param day of inputs that depend on it. @param parse is called for an address that is not kept.
   */
  input(request: FastifyRequest, day: string, parse: () => unknown): unknown;
}

/** Limits of memory. Longer addresses are parsed each time. */
const MAX_BYTES = 16 * 2 ** 20;
const LONGEST_ADDRESS = 4_096;
const MAX_SEEN = 4_096;

/**
 * At least the size of an input with its address and identities: measured are 1,048 bytes for a product (45 characters), 1,668 with
 * options (122), 1,375 for ten products (144) and 5,938 for a hundred (1,134).
 */
const ENTRY_BYTES = 1_024;
const BYTES_PER_CHARACTER = 5;

export function createParsedRequests(): ParsedRequests {
  const inputs = new LRUCache<string, object>({
    maxSize: MAX_BYTES,
    sizeCalculation: (_input, address) => ENTRY_BYTES + BYTES_PER_CHARACTER * address.length,
  });
  // An input is kept only when its address comes a second time, so that addresses that come once displace nothing.
  const seen = new Set<string>();

  return {
    input(request, day, parse) {
      const address = addressOf(request);
      if (address === null) return parse();
      const id = day === '' ? address : `${address} ${day}`;
      const known = inputs.get(id);
      if (known) return known;
      const input = parse();
      if (seen.delete(id)) inputs.set(id, frozen(input as object));
      else {
        if (seen.size >= MAX_SEEN) seen.clear();
        seen.add(id);
      }
      return input;
    },
  };
}

/** Returns what identifies the input of a request; null if it is parsed each time. */
function addressOf({ method, url, query }: FastifyRequest): string | null {
  if (method !== 'GET' || url.length > LONGEST_ADDRESS) return null;
  const { key, webhook } = query as Record<string, unknown>;
  // Keys and addresses of webhooks are secret, so they are not kept in memory.
  return key === undefined && webhook === undefined ? url : null;
}

function frozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) frozen(part);
  return Object.freeze(value);
}

// Built once, because building a schema takes longer than most requests.
const formatSchema = z.object({ format: oneOf(['json', ...TABLE_FORMAT_NAMES]) });

/** The query parameter `format` of an endpoint that returns rows. */
export function tableFormat() {
  return oneOf(['json', ...TABLE_FORMAT_NAMES])
    .optional()
    .describe('Form of the answer. Default: that of the header Accept, or json');
}

/** Returns whether a request asks for a table. Its query may be invalid. */
export function isTableRequest(request: FormatRequest): boolean {
  const { format } = request.query as Record<string, unknown>;
  return format === undefined ? formatOf(request) !== null : format !== 'json';
}

/** How a request asks for the form of its answer. */
export type SentFormat = { parameter: 'format' | 'Accept'; format: TableFormat } | null;

/** A type with its charset is another one for the header. */
const ACCEPTED_TYPES = [
  'application/json',
  ...TABLE_FORMAT_NAMES.flatMap((name) => [mediaTypeOf(name), TABLE_FORMATS[name].contentType]),
];

/** Returns the form that a request asks for: by `format`, or else by the header Accept; null: JSON. @throws SoukError VALIDATION_FAILED. */
export function formatOf({ query, headers, raw }: FormatRequest): SentFormat {
  const { format: sent } = query as Record<string, unknown>;
  if (sent !== undefined) {
    const { format } = parseAs(formatSchema, { format: sent });
    return format === 'json' ? null : { parameter: 'format', format };
  }
  const { accept } = headers;
  if (accept === undefined || accept.startsWith('*/*') || accept.startsWith('application/json')) return null;
  const preferred = new Negotiator(raw).mediaType(ACCEPTED_TYPES)?.split(';', 1)[0];
  const format = TABLE_FORMAT_NAMES.find((one) => mediaTypeOf(one) === preferred);
  return format ? { parameter: 'Accept', format } : null;
}

type FormatRequest = Pick<FastifyRequest, 'query' | 'headers' | 'raw'>;

/** Returns the input of a call with the form that its request asks for. @throws SoukError VALIDATION_FAILED. */
export function inFormat(
  operation: QueuedOperation,
  input: unknown,
  query: unknown,
  sent: SentFormat,
): unknown {
  const { table: wanted } = query as Record<string, unknown>;
  if (sent === null) {
    if (wanted === undefined || !operation.tables) return input;
    const problem = `must be sent with format=${TABLE_FORMAT_NAMES.join(', ')}, or without a table`;
    throw invalidParameters([{ parameter: 'table', problem }]);
  }
  const { format, parameter } = sent;
  // A parameter that is sent twice is a list.
  const name = wanted === undefined || typeof wanted === 'string' ? wanted : stringifyJson(wanted);
  const chosen = chooseTable(operation, input, name);
  if ('name' in chosen) return { ...(input as object), format, table: chosen.name };
  const { fault } = chosen;
  throw invalidParameters([fault.parameter === 'format' ? { ...fault, parameter } : fault]);
}
