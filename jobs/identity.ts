import { editionFor } from '../src/brand-analytics/weeks.ts';
import { maxAgeMs, maxUpdateAgeMs, type QueuedOperation, shownInput } from '../src/operations/define.ts';
import { type Providers, providerOf } from '../src/operations/providers.ts';
import type { Clock } from '../src/platform/clock.ts';
import { fingerprint, fingerprintOf } from '../src/platform/fingerprint.ts';
import { retryDuringOutage } from '../src/platform/retry-during-outage.ts';
import type { AnswerMeta, StoredAnswer } from '../src/results/answer.ts';
import type { Answer, AnswerStore } from '../src/results/answer-store.ts';
import { providersFor, type Reports, reportsFor } from './mode.ts';

/** The identities of a call. */
export interface IdentifiedCall {
  /** Equal for calls of all accounts that have the same answer. */
  presentationId: string;
  /** Equal for calls of an account that are charged once. */
  chargeId: string;
  /** A shared answer that is fresh enough for this call. */
  cached: Answer | null;
}

/**
 * Derives the identities of a call and looks for a cached answer. @throws SoukError VALIDATION_FAILED if a report
 * is not loaded.
 */
export async function identifyCall(
  deps: { reports: Reports; answers: AnswerStore; clock: Clock; providers: Providers },
  accountId: number,
  operation: QueuedOperation,
  input: unknown,
): Promise<IdentifiedCall> {
  const { answers, clock } = deps;
  const provider = providerOf(providersFor(accountId, deps.providers), operation);
  const edition = operation.reports
    ? await retryDuringOutage(clock, () =>
        editionFor(reportsFor(accountId, deps.reports), provider, operation, input),
      )
    : null;
  const { presentationId, chargeId } = identitiesOf(provider, operation, input, edition);
  return {
    presentationId,
    chargeId,
    cached: await findFresh(answers, presentationId, {
      fetchedAfter: clock.now() - maxAgeMs(operation, input),
      updatedAfter: clock.now() - maxUpdateAgeMs(operation, input),
    }),
  };
}

type Identities = Pick<IdentifiedCall, 'presentationId' | 'chargeId'>;

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

/** Identifies a call among those of its account: by its answer, and how fresh that must be. */
export function chargeIdOf(
  provider: string,
  operation: QueuedOperation,
  input: unknown,
  presentationId = presentationIdOf(provider, operation, input),
): string {
  const freshness = operation.freshness && (input as Record<string, unknown>)[operation.freshness];
  return fingerprintOf(`["charge","${presentationId}",${JSON.stringify(freshness ?? null)}]`);
}

interface Ages {
  fetchedAfter: number;
  updatedAfter: number;
}

/** Returns an answer that is in memory, or the promise of one. */
function findFresh(
  answers: AnswerStore,
  presentationId: string,
  ages: Ages,
): Answer | null | Promise<Answer | null> {
  const complete = (found: StoredAnswer | null) => {
    if (!found || !isFresh(found.meta, ages)) return null;
    const { meta, body } = found;
    if (body) return { meta, body };
    return answers.loadSharedBody(presentationId, meta).then((large) => large && { meta, body: large });
  };
  const found = answers.findShared(presentationId);
  return found instanceof Promise ? found.then(complete) : complete(found);
}

function isFresh(
  { fetchedAt, updatedAt = fetchedAt }: AnswerMeta,
  { fetchedAfter, updatedAfter }: Ages,
): boolean {
  return fetchedAt > fetchedAfter && updatedAt > updatedAfter;
}
