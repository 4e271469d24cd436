import { z } from 'zod';
import { isTestAccount, type Mode, modeOf } from '../src/accounts/authentication.ts';
import { editionFor } from '../src/brand-analytics/weeks.ts';
import { maxAgeMs, maxUpdateAgeMs, type QueuedOperation, shownInput } from '../src/operations/define.ts';
import { queuedOperation } from '../src/operations/index.ts';
import {
  type PoolName,
  type Providers,
  providerOf,
  TEST_POOL,
  TEST_PROVIDERS,
} from '../src/operations/pools.ts';
import type { Clock } from '../src/platform/clock.ts';
import type { Database } from '../src/platform/db/pool.ts';
import { fingerprint, fingerprintOf } from '../src/platform/fingerprint.ts';
import { retryDuringOutage } from '../src/platform/outage.ts';
import type { Answer, AnswerStore } from '../src/results/answer-store.ts';
import type { StoredAnswer } from '../src/results/cache.ts';

/**
 * Derives the identities of a call and looks for a cached answer.
 * @returns `presentationId`, equal for calls of all accounts that have the same answer; `chargeId`, equal for calls of an
 *   account that are charged once; `cached`, a shared answer that is fresh enough; `units`, the price without that answer.
 * @throws SoukError VALIDATION_FAILED if a report is not loaded.
 */
export async function identifyCall(
  deps: { reports: Reports; answers: AnswerStore; clock: Clock; providers: Providers },
  accountId: number,
  operation: QueuedOperation,
  input: unknown,
) {
  const { answers, clock } = deps;
  const providers = providersFor(accountId, deps.providers);
  const provider = providerOf(providers, operation);
  const report = operation.reports
    ? await retryDuringOutage(clock, () =>
        editionFor(reportsFor(accountId, deps.reports), providers.reports, operation, input),
      )
    : null;
  const { presentationId, chargeId } = identitiesOf(provider, operation, input, report?.edition ?? null);
  return {
    units: operation.price.quote(input, report?.rows),
    presentationId,
    chargeId,
    cached: await findFresh(answers, presentationId, {
      fetchedAfter: clock.now() - maxAgeMs(operation, input),
      updatedAfter: clock.now() - maxUpdateAgeMs(operation, input),
    }),
  };
}

interface Identities {
  presentationId: string;
  chargeId: string;
}

/** The identities of inputs that requests share (see ParsedRequests), with their provider. */
const known = new WeakMap<object, Identities & { provider: string }>();

function identitiesOf(
  provider: string,
  operation: QueuedOperation,
  input: unknown,
  edition: string | null,
): Identities {
  if (edition !== null) {
    const presentationId = presentationIdOf(provider, operation, input, edition);
    // The same call within five minutes is one charge, even if a report was imported in between.
    return { presentationId, chargeId: chargeIdOf(provider, operation, input) };
  }
  const before = known.get(input as object);
  if (before?.provider === provider) return before;
  const presentationId = presentationIdOf(provider, operation, input);
  const identities = { presentationId, chargeId: chargeIdOf(provider, operation, input, presentationId) };
  // An input that is not frozen belongs to one request.
  if (Object.isFrozen(input)) known.set(input as object, { ...identities, provider });
  return identities;
}

/**
 * Returns the identity of an answer that all accounts share: the provider, the input that affects it, and the edition of
 * the reports, if it is made from reports.
 */
export function presentationIdOf(
  provider: string,
  operation: QueuedOperation,
  input: unknown,
  edition: string | null = null,
): string {
  const parts = ['presentation', provider, operation.name, shownInput(operation, input)];
  return fingerprint(...parts, ...(edition === null ? [] : [edition]));
}

/** Identifies a call within its account: by its answer, and by how fresh the answer must be. */
function chargeIdOf(
  provider: string,
  operation: QueuedOperation,
  input: unknown,
  presentationId = presentationIdOf(provider, operation, input),
): string {
  const freshness = operation.freshness && (input as Record<string, unknown>)[operation.freshness];
  return fingerprintOf(`["charge","${presentationId}",${JSON.stringify(freshness ?? null)}]`);
}

/** Returns an answer that is in memory, or the promise of one. @param after Unix milliseconds. */
function findFresh(
  answers: AnswerStore,
  presentationId: string,
  after: { fetchedAfter: number; updatedAfter: number },
): Answer | null | Promise<Answer | null> {
  const complete = (found: StoredAnswer | null) => {
    if (!found) return null;
    const { meta, body } = found;
    const { fetchedAt, updatedAt = fetchedAt } = meta;
    if (fetchedAt <= after.fetchedAfter || updatedAt <= after.updatedAfter) return null;
    if (body) return { meta, body };
    return answers.loadSharedBody(presentationId, meta).then((large) => large && { meta, body: large });
  };
  const found = answers.findShared(presentationId);
  return found instanceof Promise ? found.then(complete) : complete(found);
}

/*
 * Everything that depends on the mode of a call, which follows from its account. Test calls run in a pool of their own, whose
 * jobs have no client of a real provider; and the keys of answers, sources, single flights, tokens and request rates contain the provider.
 */

/** Returns the pool in which a call of an account runs. */
export function poolOf(accountId: number, operation: QueuedOperation, input: unknown): PoolName {
  return isTestAccount(accountId) ? TEST_POOL : operation.queue(input);
}

/** Returns the pools in which calls of an account for an operation may run. */
export function poolsOf(accountId: number, { pools }: QueuedOperation): readonly PoolName[] {
  return isTestAccount(accountId) ? [TEST_POOL] : pools;
}

/** Returns the providers whose data an account receives. @param providers those of the installation. */
export function providersFor(accountId: number, providers: Providers): Providers {
  return isTestAccount(accountId) ? TEST_PROVIDERS : providers;
}

/** The connections to the weekly reports of each mode: imported ones for live calls, generated ones for test calls. */
export type Reports = Readonly<Record<Mode, Database>>;

/** Returns the connections to the weekly reports that an account reads. */
export function reportsFor(accountId: number, reports: Reports): Database {
  return reports[modeOf(accountId)];
}

/** Raised when workers of the previous version cannot run the jobs any more. */
const VERSION = 1;

/**
 * A job in its queue: everything that a worker needs to run and end a call, without secrets. The BullMQ job id is
 * the call id.
 */
export const payloadSchema = z.object({
  version: z.literal(VERSION),
  callId: z.uuid(),
  accountId: z.int().positive(),
  operation: z.string(),
  /** Canonical input; the worker parses it again. */
  input: z.unknown(),
  unitsReserved: z.int().nonnegative(),
  /** What the account has paid for the partial answer that the call continues. */
  unitsPaid: z.int().nonnegative(),
  /** Unix milliseconds. A call that is still open at this time is released. */
  deadlineAt: z.number(),
  /** When the job first started, if it has returned to its queue to wait for tokens; Unix milliseconds. */
  begunAt: z.number().optional(),
  /** True for a call of a batch: no request waits for it, so it leaves tokens to calls with waiting requests. */
  background: z.boolean().default(false),
  /** The completion channel of the process that submitted the job; absent in jobs that were put back. */
  completionChannel: z.string().optional(),
  /** The span that submitted the job, as W3C `traceparent`, so that one trace shows request and job. */
  traceparent: z.string().optional(),
});

export type Payload = z.output<typeof payloadSchema>;

/** Returns whether this version can run a job, whose payload may come from another version of the service. */
export function isRunnable({ version, operation }: Partial<Payload>): boolean {
  return version === VERSION && operation !== undefined && queuedOperation(operation) !== undefined;
}

/** Returns the payload of a call's job, with only the fields that a worker needs. */
export function payloadOf(
  call: Omit<Payload, 'version' | 'traceparent' | 'completionChannel'>,
  sender: Pick<Payload, 'completionChannel' | 'traceparent'> = {},
): Payload {
  return payloadSchema.parse({ ...call, ...sender, version: VERSION });
}
