import { Counter, Histogram, type Registry } from 'prom-client';
import { ERRORS, type ErrorKind } from '../errors.ts';
import type { Logger } from '../log.ts';

interface OfCall {
  operation: string;
  accountId: number;
  callId: string;
}

interface OfJob extends OfCall {
  pool: string;
}

export interface OfSource {
  operation: string;
  accountId: number;
  callId: string;
}

/**
 * The events of calls, each emitted once. Metrics, usage statistics, the failure log and the use of keys are sinks of
 * these events, and so is the spy of tests, which wait for events. Spans are separate, because they have a duration; see
 * `traced`.
 */
export type CallEvent =
  /** A key was accepted, for a call or for a free request. */
  | { type: 'key.accepted'; keyHash: Buffer }
  /** Admission refused a call because of its key or a quota. */
  | { type: 'call.refused'; operation: string; error: ErrorKind }
  /** A call was started: its units are reserved. */
  | ({ type: 'call.started' } & OfCall)
  /** A call was answered from the cache: its units are charged. */
  | ({ type: 'call.cached'; units: number } & OfCall)
  /** A call joined an identical call of the account, which is in progress or recent; `callId` is that call's. */
  | ({ type: 'call.joined' } & OfCall)
  | ({ type: 'call.queued' } & OfJob)
  /** A request started to wait for the end of a call. */
  | { type: 'call.awaited'; accountId: number; callId: string }
  | ({ type: 'call.settled'; units: number } & OfCall)
  | ({ type: 'call.released'; error: ErrorKind } & OfCall)
  /** A settled call was refunded, because its answer was lost and could not be made again. */
  | ({ type: 'call.refunded'; units: number; error: ErrorKind } & OfCall)
  /** @property tokens cost of the answer upstream. */
  | { type: 'answer.hit'; operation: string; accountId: number; tokens: number }
  | { type: 'answer.miss'; operation: string; accountId: number }
  /** @property waitedMs time in the queue for the first attempt; null for later ones. */
  | ({ type: 'job.started'; attempt: number; waitedMs: number | null } & OfJob)
  /** A background job was paused until tokens are available. */
  | ({ type: 'job.paused' } & OfJob)
  /** A running job was cancelled: it sends nothing more. */
  | ({ type: 'job.cancelled' } & OfJob)
  | ({
      type: 'job.ended';
      state: 'settled' | 'released';
      error: ErrorKind | null;
      durationMs: number;
    } & OfJob)
  /** A source was in the cache, or came from the flight of another call (`isMerged`). @property tokens its cost upstream. */
  | ({ type: 'source.hit'; tokens: number; isMerged: boolean } & OfSource)
  /** A source was fetched. */
  | ({ type: 'source.miss' } & OfSource)
  /** The call became a follower: another call fetches the source. */
  | ({ type: 'source.followed'; identity: string } & OfSource)
  /** Upstream charged tokens. */
  | ({ type: 'tokens.spent'; tokens: number } & OfSource)
  /** The provider of product data has answered a request with an account, or has not. @property tokens that it cost. */
  | { type: 'provider.used'; account: string; outcome: ProviderOutcome; tokens: number }
  /** A request was answered with an error. */
  | { type: 'request.refused'; error: ErrorKind }
  /** Something failed on our side or upstream; the customer receives an id and not the cause. */
  | ({ type: 'failure' } & Failure);

/** `refused` is the key of the account, `limited` a 429. */
export const PROVIDER_OUTCOMES = ['answered', 'refused', 'limited', 'failed', 'timeout'] as const;

export type ProviderOutcome = (typeof PROVIDER_OUTCOMES)[number];

export interface Failure {
  code: string;
  /** The route or the operation. */
  place: string;
  errorId?: string | undefined;
  requestId?: string | undefined;
  callId?: string | undefined;
  accountId?: number | undefined;
  cause: unknown;
}

export interface CallEvents {
  emit(event: CallEvent): void;
}

/** Receives all events. It must return immediately. */
export type CallEventSink = (event: CallEvent) => void;

/** Passes each event to each sink. Errors of a sink are logged and do not affect the call or other sinks. */
export function createCallEvents(log: Logger, sinks: readonly CallEventSink[]): CallEvents {
  return {
    emit(event) {
      for (const sink of sinks) {
        try {
          sink(event);
        } catch (error) {
          log.error({ err: error, event: event.type }, 'failed to observe a call event');
        }
      }
    },
  };
}

/** A sink that writes its data to the database every few seconds. */
export interface StoringSink {
  onEvent: CallEventSink;
  /** Writes the data that has not been written yet. */
  close(): Promise<void>;
}

/** Metrics of gateways and workers: admissions, charges, and the use of the two caches, `answers` and `sources`. */
export function createCallMetrics(registry: Registry): CallEventSink {
  const admissionsBy = new Counter({
    name: 'souk_admissions_total',
    help: 'Calls by result of admission: started, cached, joined or refused.',
    labelNames: ['operation', 'outcome'],
    registers: [registry],
  });
  const unitsSettled = new Counter({
    name: 'souk_units_settled_total',
    help: 'Units charged.',
    registers: [registry],
  });
  const hitsIn = new Counter({
    name: 'souk_cache_hits_total',
    help: 'Cache hits: answers and sources from a cache, or shared with the fetch of another call.',
    labelNames: ['cache'],
    registers: [registry],
  });
  const missesIn = new Counter({
    name: 'souk_cache_misses_total',
    help: 'Cache misses: answers that were created, and sources that were fetched.',
    labelNames: ['cache'],
    registers: [registry],
  });
  const tokensSaved = new Counter({
    name: 'souk_upstream_tokens_saved_total',
    help: 'Tokens saved by cache hits.',
    registers: [registry],
  });
  const hits = { answers: hitsIn.labels('answers'), sources: hitsIn.labels('sources') };
  const misses = { answers: missesIn.labels('answers'), sources: missesIn.labels('sources') };
  for (const cache of [...Object.values(hits), ...Object.values(misses)]) cache.inc(0);

  return (event) => {
    switch (event.type) {
      case 'call.started':
        admissionsBy.labels(event.operation, 'started').inc();
        break;
      case 'call.cached':
        admissionsBy.labels(event.operation, 'cached').inc();
        unitsSettled.inc(event.units);
        break;
      case 'call.joined':
        admissionsBy.labels(event.operation, 'joined').inc();
        break;
      case 'call.refused':
        admissionsBy.labels(event.operation, 'refused').inc();
        break;
      case 'call.settled':
        unitsSettled.inc(event.units);
        break;
      case 'answer.hit':
        hits.answers.inc();
        tokensSaved.inc(event.tokens);
        break;
      case 'answer.miss':
        misses.answers.inc();
        break;
      case 'source.hit':
        hits.sources.inc();
        tokensSaved.inc(event.tokens);
        break;
      case 'source.miss':
        misses.sources.inc();
        break;
      default:
    }
  };
}

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Metrics of workers. */
export function createJobMetrics(registry: Registry): CallEventSink {
  const spent = new Counter({
    name: 'souk_upstream_tokens_spent_total',
    help: 'Tokens charged by the data provider; the expected cost if an answer did not contain it.',
    registers: [registry],
  });
  const requestsBy = new Counter({
    name: 'souk_upstream_requests_total',
    help: 'Requests to the data provider, by account and outcome.',
    labelNames: ['provider_account', 'outcome'],
    registers: [registry],
  });
  const failuresBy = new Counter({
    name: 'souk_job_failures_total',
    help: 'Jobs that ended with an error, by its code.',
    labelNames: ['pool', 'code'],
    registers: [registry],
  });
  const durations = new Histogram({
    name: 'souk_job_duration_seconds',
    help: 'Run time of jobs, by outcome: settled or released.',
    labelNames: ['pool', 'state'],
    buckets: SECONDS,
    registers: [registry],
  });
  const waits = new Histogram({
    name: 'souk_queue_wait_seconds',
    help: 'Time that jobs waited in their queue.',
    labelNames: ['pool'],
    buckets: SECONDS,
    registers: [registry],
  });

  return (event) => {
    switch (event.type) {
      case 'job.started':
        if (event.waitedMs !== null) waits.observe({ pool: event.pool }, event.waitedMs / 1000);
        break;
      case 'job.ended': {
        const { pool, state, error, durationMs } = event;
        durations.observe({ pool, state }, durationMs / 1000);
        if (error) failuresBy.labels(pool, ERRORS[error].code).inc();
        break;
      }
      case 'tokens.spent':
        spent.inc(event.tokens);
        break;
      case 'provider.used':
        requestsBy.labels(event.account, event.outcome).inc();
        break;
      default:
    }
  };
}

/** Counts the completion messages that a process has decoded: on its own channel, and on the one of all processes. */
export function createCompletionMetrics(registry: Registry): (channel: 'own' | 'common') => void {
  const receivedOn = new Counter({
    name: 'souk_completions_received_total',
    help: 'Completion messages that this process has decoded, by channel: own, or common to all processes.',
    labelNames: ['channel'],
    registers: [registry],
  });
  const cells = { own: receivedOn.labels('own'), common: receivedOn.labels('common') };
  for (const cell of Object.values(cells)) cell.inc(0);
  return (channel) => {
    cells[channel].inc();
  };
}
