import { queuedOperation } from '../../operations/index.ts';
import { type PoolName, TEST_POOL } from '../../operations/pools.ts';
import type { ErrorKind } from '../../platform/errors.ts';
import type { CallEvent } from '../../platform/telemetry/call-events.ts';
import { OUR_FAILURES } from '../open-work.ts';
import { type ComponentId, UPSTREAM_OF } from './components.ts';

export interface Outcome {
  component: ComponentId;
  isGood: boolean;
}

const API_GOOD: readonly Outcome[] = [{ component: 'api', isGood: true }];
const API_BAD: readonly Outcome[] = [{ component: 'api', isGood: false }];
const NONE: readonly Outcome[] = [];

const UPSTREAM_FAILURES: readonly ErrorKind[] = ['UPSTREAM_ERROR', 'UPSTREAM_TIMEOUT'];
const API_FAILURES: readonly ErrorKind[] = ['INTERNAL', 'BUSY'];

/** What an event says about the components: errors that a customer causes count as good. */
export function outcomesOf(event: CallEvent): readonly Outcome[] {
  switch (event.type) {
    case 'call.started':
    case 'call.cached':
    case 'call.joined':
      return API_GOOD;
    case 'request.refused':
      return API_FAILURES.includes(event.error) ? API_BAD : API_GOOD;
    // A failed call is counted once, when it is released: by a worker, or by the reconciler if no worker has run it.
    case 'job.ended':
      return isOurs(event.error) ? NONE : ofPool(event.operation, true);
    case 'call.released': {
      if (!isOurs(event.error)) return NONE;
      const isUpstreams = UPSTREAM_FAILURES.includes(event.error);
      return [...ofPool(event.operation, false), ...(isUpstreams ? ofUpstream(event.operation, false) : [])];
    }
    case 'source.miss':
      return ofUpstream(event.operation, true);
    default:
      return NONE;
  }
}

function isOurs(error: ErrorKind | null): boolean {
  return error !== null && OUR_FAILURES.includes(error);
}

function ofPool(operation: string, isGood: boolean): Outcome[] {
  const pool = poolOf(operation);
  return pool ? [{ component: `pool:${pool}`, isGood }] : [];
}

function ofUpstream(operation: string, isGood: boolean): Outcome[] {
  const pool = poolOf(operation);
  const component = pool && UPSTREAM_OF[pool];
  return component ? [{ component, isGood }] : [];
}

/** An operation of several pools counts for the last, which has no other operations. */
function poolOf(operation: string): Exclude<PoolName, typeof TEST_POOL> | undefined {
  const pool = queuedOperation(operation)?.pools.at(-1);
  return pool === TEST_POOL ? undefined : pool;
}
