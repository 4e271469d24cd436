import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import { type Payload, presentationIdOf } from '../jobs/payload.ts';
import { type Mode, modeOf } from '../src/accounts/authentication.ts';
import type { Settlements } from '../src/billing/settlement.ts';
import { project } from '../src/operations/answer-fields.ts';
import {
  CACHE_LIFETIME_MS,
  inputOn,
  type Presented,
  type QueuedOperation,
} from '../src/operations/define.ts';
import { type QueuedName, queuedOperation } from '../src/operations/index.ts';
import { formOf, parseStored, withoutForm } from '../src/operations/params/answer-form.ts';
import { providerOf } from '../src/operations/pools.ts';
import { TABLE_FORMATS, type TableFormat } from '../src/operations/tables/formats.ts';
import { namedTable } from '../src/operations/tables/tables.ts';
import { type ErrorKind, SoukError } from '../src/platform/errors.ts';
import { joinObjects, stringifyJson } from '../src/platform/json.ts';
import type { Logger } from '../src/platform/log.ts';
import { type Tracing, traced } from '../src/platform/telemetry/tracing.ts';
import {
  type Answer,
  type AnswerRef,
  type AnswerStore,
  OWN_ANSWER,
  partialAnswerRef,
} from '../src/results/answer-store.ts';
import { type AnswerMeta, INLINE_LIMIT_BYTES, newVersion } from '../src/results/cache.ts';
import { compressForClients } from '../src/results/compression.ts';
import { inMode, JSON_TYPE, okText } from '../src/results/envelope.ts';
import { outlineOf } from '../src/results/outline.ts';
import { fileNameOf } from '../src/results/tables/file-name.ts';
import { writeTable } from '../src/results/tables/write-table.ts';
import type { Deadline, RunningJob } from './executor.ts';
import { createHandlerContext, type Gathered, type HandlerContextDeps } from './handler-context.ts';
import type { Handler } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';

/** The answer of an operation, ready to be stored. */
interface Content {
  contentType: string;
  isCompressible: boolean;
  units: number;
  /** Returns the beginning of the body. JSON says whether all of the data came from the cache. */
  head(fromCache: boolean): string;
  rest: Buffer;
  /** The name of the file of a table. */
  fileName?: string;
  /** An outline of the data. */
  outline?(): string;
}

/** What an answer depends on in addition to its input and data. */
interface Circumstances {
  mode: Mode;
  /** Unix milliseconds. */
  now: number;
  /** When stale data were fetched; Unix milliseconds. */
  staleSince: number | null;
  /** The errors of sources that the answer lacks, by key. */
  failures: ReadonlyMap<string, ErrorKind>;
}

/** Writes what an operation presents. */
export async function present(
  operation: QueuedOperation,
  input: unknown,
  found: ReadonlyMap<string, unknown>,
  circumstances: Circumstances,
): Promise<Content> {
  const { respond, price } = operation;
  if (respond.type === 'png') {
    const [picture] = found.values();
    const units = price.quote(input);
    return {
      contentType: 'image/png',
      isCompressible: false,
      units,
      head: () => '',
      rest: picture as Buffer,
    };
  }
  const presented = respond.present(found, input, circumstances);
  const units = price.settle ? price.settle(input, presented) : price.quote(input);
  const { fields, format } = formOf(input);
  if (format) return tableContent(operation, input, format, presented, { units, now: circumstances.now });
  const data = fields ? project(respond, presented.data, fields) : presented.data;
  return jsonContent({ ...presented, data }, circumstances, units);
}

async function tableContent(
  operation: QueuedOperation,
  input: unknown,
  format: TableFormat,
  { data }: Presented,
  { units, now }: { units: number; now: number },
): Promise<Content> {
  const table = namedTable(operation, input);
  const rest = await buffer(writeTable(format, table, table.rows(data, now)));
  const fileName = fileNameOf({ table: table.name, parameters: input, format, now });
  return { ...TABLE_FORMATS[format], units, head: () => '', rest, fileName };
}

/** The first field of the data; its value follows. */
const FROM_CACHE = '"fromCache":';

function jsonContent({ data, metadata }: Presented, circumstances: Circumstances, units: number): Content {
  const { mode, now, staleSince } = circumstances;
  const allMetadata = { ...metadata, ...(staleSince === null ? {} : staleness(staleSince, now)) };
  const metadataText = Object.keys(allMetadata).length > 0 ? stringifyJson(allMetadata) : null;
  const dataText = joinObjects(`{${FROM_CACHE}}`, stringifyJson(data));
  const envelope = inMode(mode, okText(dataText, metadataText));
  const restAt = envelope.indexOf(FROM_CACHE) + FROM_CACHE.length;
  return {
    contentType: JSON_TYPE,
    isCompressible: true,
    units,
    head: (fromCache) => `${envelope.slice(0, restAt)}${fromCache}`,
    rest: Buffer.from(envelope.slice(restAt)),
    outline: () => outlineOf(data),
  };
}

type AnswerFacts = Pick<AnswerMeta, 'version' | 'fetchedAt' | 'updatedAt' | 'fromCache' | 'units' | 'tokens'>;

/** Compresses the content, if that saves space. @returns a function that creates a stored answer from its metadata. */
async function packed(content: Content): Promise<(facts: AnswerFacts) => Answer> {
  const { contentType, isCompressible, head, rest, outline, fileName } = content;
  const pack = isCompressible
    ? await compressForClients(rest)
    : () => ({ encoding: 'identity' as const, bytes: rest });
  return (facts) => {
    const start = Buffer.from(head(facts.fromCache));
    const size = start.length + rest.length;
    const { encoding, bytes } = pack(start);
    // Gateways do not parse large answers, so the worker writes their outlines.
    const summary = outline && size > INLINE_LIMIT_BYTES ? { outline: outline() } : {};
    const named = fileName === undefined ? {} : { fileName };
    return { meta: { ...facts, contentType, encoding, size, ...named, ...summary }, body: bytes };
  };
}

/** Returns the fields that an answer with stale data has. */
function staleness(fetchedAt: number, now: number): Record<string, unknown> {
  const ageSeconds = Math.floor((now - fetchedAt) / 1000);
  return { stale: true, fetchedAt: new Date(fetchedAt).toISOString(), ageSeconds };
}

export interface ProduceDeps extends HandlerContextDeps {
  answers: AnswerStore;
  settlements: Pick<Settlements, 'paidFor'>;
  tracing: Tracing | null;
}

/** A stored answer. */
export interface Produced {
  /** The units to charge. */
  units: number;
  ref: AnswerRef;
  answer: Answer;
  /** The errors of sources that the answer lacks. */
  failures: ReadonlySet<SoukError>;
}

/** Fetches, presents and stores the answer of a job. @param again the job was started before, and stopped to wait for tokens. */
export async function produceAnswer(
  deps: ProduceDeps,
  job: RunningJob,
  deadline: Deadline,
  again: boolean,
): Promise<Produced> {
  const { payload } = job;
  const { clock, tracing } = deps;
  if (deadline.signal.aborted)
    throw new SoukError('UPSTREAM_TIMEOUT', { message: 'The call waited too long in the queue.' });
  const operation = operationOf(payload);
  const input = inputOn(operation, parseStored(operation, payload.input), clock.now());

  const handler = HANDLERS[operation.name as QueuedName] as Handler<QueuedOperation>;
  const { context, gathered } = createHandlerContext(deps, { ...job, operation, input, deadline, again });
  try {
    const found = await traced(tracing, { name: `handle ${operation.name}`, kind: 'internal' }, () =>
      handler(withoutForm(input), context),
    );
    // Parts of a joined answer may be there without a fetch.
    if (job.run.cancelled.aborted && gathered.failures.size > 0 && !gathered.hasFetched)
      throw job.run.cancelled.reason;
    return await storeAnswer(deps, job, { operation, input, found, gathered });
  } finally {
    // An error of the call comes first.
    await Promise.allSettled(gathered.storing);
  }
}

/** Presents and stores an answer while its sources are being stored. */
async function storeAnswer(
  deps: ProduceDeps,
  { payload, log }: RunningJob,
  {
    operation,
    input,
    found,
    gathered,
  }: {
    operation: QueuedOperation;
    input: unknown;
    found: ReadonlyMap<string, unknown>;
    gathered: Gathered;
  },
): Promise<Produced> {
  const { clock } = deps;
  const age = ageOf(operation, gathered, clock.now());
  const staleSince = age.stale ? age.fetchedAt : null;
  const content = await presentable(log, () =>
    present(operation, input, found, {
      mode: modeOf(payload.accountId),
      now: clock.now(),
      staleSince,
      failures: new Map([...gathered.failures].map(([key, { kind }]) => [key, kind])),
    }),
  );
  const { unitsPaid, unitsReserved } = payload;
  const units = Math.max(0, Math.min(content.units - unitsPaid, unitsReserved));
  const provider = providerOf(deps.providers, operation);
  const presentationId = presentationIdOf(provider, operation, input, gathered.edition);
  const [answer] = await Promise.all([
    store(deps, payload, presentationId, { content, gathered, isOwn: operation.isOwn === true, ...age }),
    ...gathered.storing,
  ]);
  const { failures } = gathered;
  const ref = failures.size > 0 ? partialAnswerRef(unitsPaid + units) : OWN_ANSWER;
  return { units, ref, answer, failures: new Set(failures.values()) };
}

interface Age {
  /** Fetch time of the oldest source. */
  fetchedAt: number;
  /** When the provider last updated the oldest source, if the operation knows. */
  updatedAt?: number;
  /** Whether all sources came from the cache. */
  fromCache: boolean;
  /** Whether a source is older than requested. */
  stale: boolean;
}

function ageOf({ updatedAt }: QueuedOperation, { obtained }: Gathered, now: number): Age {
  const updates = updatedAt && obtained.map(({ value, fetchedAt }) => updatedAt(value) ?? fetchedAt);
  return {
    ...(updates ? { updatedAt: updates.reduce((oldest, at) => Math.min(oldest, at), now) } : {}),
    fetchedAt: obtained.reduce((oldest, source) => Math.min(oldest, source.fetchedAt), now),
    fromCache: obtained.length > 0 && obtained.every((source) => source.fromCache),
    stale: obtained.some((source) => source.stale),
  };
}

/** Stores the answer for its call, and for later calls with the same input. @returns the answer of the call. */
async function store(
  { answers, settlements, clock }: ProduceDeps,
  { accountId, callId, background }: Payload,
  presentationId: string,
  answer: Age & { content: Content; gathered: Gathered; isOwn: boolean },
): Promise<Answer> {
  const { content, gathered, isOwn, fromCache, stale, ...times } = answer;
  const { fetchedAt } = times;
  const { units } = content;
  const version = newVersion(fetchedAt);
  const tokens = gathered.obtained.reduce((sum, source) => sum + source.tokens, 0);
  // An answer with missing data may be complete in a minute, and stale data is for this caller only: neither is
  // shared for an hour. The answer of a batch's call is not requested again, but its sources are shared. A call without
  // a charge reserves units like any other, which a shared answer would not.
  const isWhole = gathered.complete && gathered.failures.size === 0 && !stale;
  const isShared = isWhole && !isOwn && !background && units > 0;
  const freshForMs = fetchedAt + CACHE_LIFETIME_MS - clock.now();
  const facts = { version, ...times, units, tokens };
  const pack = await packed(content);
  const own = pack({ ...facts, fromCache });
  const [failure] = gathered.failures.values();
  if (failure) {
    // An earlier attempt may have stored, and charged, more than this one has found.
    const before = await answers.load(callId, OWN_ANSWER);
    if (before && before.meta.units > units) return before;
    // No caller receives less than was paid: the call fails, and is refunded.
    if (units < (await settlements.paidFor({ accountId, callId }))) throw failure;
  }
  await Promise.all([
    answers.putOwn({ accountId, callId, background }, own),
    isShared &&
      answers.putShared(presentationId, fromCache ? own : pack({ ...facts, fromCache: true }), freshForMs),
  ]);
  return own;
}

/** Presenting only reads what upstream sent, so an unexpected error there means malformed data. */
async function presentable(log: Logger, presenting: () => Promise<Content>): Promise<Content> {
  try {
    return await presenting();
  } catch (cause) {
    if (cause instanceof SoukError) throw cause;
    const errorId = randomUUID();
    log.error({ err: cause, errorId }, 'an answer of the data provider cannot be presented');
    throw new SoukError('UPSTREAM_ERROR', { metadata: { errorId }, cause });
  }
}

function operationOf({ operation }: Payload): QueuedOperation {
  const found = queuedOperation(operation);
  if (!found) throw new SoukError('INTERNAL', { cause: new Error(`no operation ${operation}`) });
  return found;
}
