import type { Registry } from 'prom-client';
import { createRequestMetrics, type RequestMetrics } from '../api/plugins/request-metrics.ts';
import { createFailureLog } from '../operator/failure-log.ts';
import { createKeyUse } from '../operator/key-use.ts';
import { ofLiveCalls } from '../operator/live-calls.ts';
import { createStatusMinutes } from '../operator/status/status-minutes.ts';
import { createUsageStatistics } from '../operator/usage-statistics.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/pool.ts';
import type { Logger } from '../platform/log.ts';
import { type CallEventSink, type CallEvents, createCallEvents } from '../platform/telemetry/call-events.ts';
import { createCallMetrics } from '../platform/telemetry/call-metrics.ts';

/** The call events of a gateway, with their sinks. */
export interface Observers {
  events: CallEvents;
  requestMetrics: RequestMetrics;
  /** Writes the data that has not been written yet. */
  close(): Promise<void>;
}

export function createObservers(
  registry: Registry,
  database: Database,
  clock: Clock,
  log: Logger,
  onEvent: CallEventSink,
): Observers {
  const usage = createUsageStatistics(database, clock, log);
  const minutes = createStatusMinutes(database, clock, log);
  const others = [createKeyUse, createFailureLog].map((create) => create(database, clock, log));
  const requestMetrics = createRequestMetrics(registry);
  const events = createCallEvents(log, [
    ...[createCallMetrics(registry), usage.onEvent, minutes.onEvent].map(ofLiveCalls),
    requestMetrics.onEvent,
    ...others.map((record) => record.onEvent),
    onEvent,
  ]);
  return {
    events,
    requestMetrics,
    async close() {
      await Promise.all([usage, minutes, ...others].map((record) => record.close()));
    },
  };
}
