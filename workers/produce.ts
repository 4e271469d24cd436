import { randomUUID } from 'node:crypto';
import { presentationIdOf } from '../jobs/identity.ts';
import type { Payload } from '../jobs/payload.ts';
import { modeOf } from '../src/accounts/test-accounts.ts';
import { CACHE_LIFETIME_MS, inputOn, type QueuedOperation } from '../src/operations/define.ts';
import { type QueuedName, queuedOperation } from '../src/operations/index.ts';
import { parseStored, withoutForm } from '../src/operations/params/answer-form.ts';
import { providerOf } from '../src/operations/providers.ts';
import { type ErrorKind, SoukError } from '../src/platform/errors.ts';
import type { Logger } from '../src/platform/log.ts';
import { type Tracing, traced } from '../src/platform/telemetry/tracing.ts';
import { newVersion } from '../src/results/answer.ts';
import {
  type Answer,
  type AnswerRef,
  type AnswerStore,
  OWN_ANSWER,
  partialAnswerRef,
} from '../src/results/answer-store.ts';
import { type Content, packed, present } from './content.ts';
import type { Deadline } from './deadline.ts';
import { createHandlerContext, type Gathered, type HandlerContextDeps } from './handler-context.ts';
import type { Handler } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';
import type { RunningJob } from './run.ts';

export interface ProduceDeps extends HandlerContextDeps {
  answers: AnswerStore;
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

/**
 * Fetches, presents and stores the answer of a job.
 * @param again the job was started before, and stopped to wait for tokens.
 */
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
    return await storeAnswer(deps, job, { operation, input, found, gathered });
  } finally {
    // An error of the call comes first.
    await Promise.allSettled(gathered.storing);
  }
}

/** What a handler found for an input. */
interface Found {
  operation: QueuedOperation;
  input: unknown;
  found: ReadonlyMap<string, unknown>;
  gathered: Gathered;
}

/** Presents and stores an answer while its sources are being stored. */
async function storeAnswer(
  deps: ProduceDeps,
  { payload, log }: RunningJob,
  { operation, input, found, gathered }: Found,
): Promise<Produced> {
  const { clock } = deps;
  const age = ageOf(operation, gathered, clock.now());
  const staleSince = age.stale ? age.fetchedAt : null;
  const content = await presentable(log, () =>
    present(operation, input, found, {
      mode: modeOf(payload.accountId),
      now: clock.now(),
      staleSince,
      failures: kindsOf(gathered),
    }),
  );
  const { unitsPaid, unitsReserved } = payload;
  const units = Math.max(0, Math.min(content.units - unitsPaid, unitsReserved));
  const provider = providerOf(deps.providers, operation);
  const presentationId = presentationIdOf(provider, operation, input, gathered.edition);
  const [answer] = await Promise.all([
    store(deps, payload, presentationId, { content, gathered, ...age }),
    ...gathered.storing,
  ]);
  const { failures } = gathered;
  const ref = failures.size > 0 ? partialAnswerRef(unitsPaid + units) : OWN_ANSWER;
  return { units, ref, answer, failures: new Set(failures.values()) };
}

function kindsOf({ failures }: Gathered): Map<string, ErrorKind> {
  return new Map([...failures].map(([key, { kind }]) => [key, kind]));
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
  { answers, clock }: ProduceDeps,
  { accountId, callId, background }: Payload,
  presentationId: string,
  answer: Age & { content: Content; gathered: Gathered },
): Promise<Answer> {
  const { content, gathered, fromCache, stale, ...times } = answer;
  const { fetchedAt } = times;
  const { units } = content;
  const version = newVersion(fetchedAt);
  const tokens = gathered.obtained.reduce((sum, source) => sum + source.tokens, 0);
  const answerOf = await packed(content);
  const answerWith = (cached: boolean) => answerOf({ version, ...times, fromCache: cached, units, tokens });
  // An answer with missing data may be complete in a minute, and stale data is for this caller only: neither is
  // shared for an hour. The answer of a batch's call is not requested again, but its sources are shared. A call without
  // a charge reserves units like any other, which a shared answer would not.
  const isShared = gathered.complete && !stale && !background && units > 0;
  const freshForMs = fetchedAt + CACHE_LIFETIME_MS - clock.now();
  const own = answerWith(fromCache);
  const shared = fromCache || !isShared ? own : answerWith(true);
  await Promise.all([
    answers.putOwn({ accountId, callId, background }, own),
    isShared && answers.putShared(presentationId, shared, freshForMs),
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
