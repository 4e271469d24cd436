import type { Registry } from 'prom-client';
import type { Admission, Admissions, CallRequest } from '../billing/admission.ts';
import type { Settlements } from '../billing/settlement.ts';
import { SoukError } from '../platform/errors.ts';
import { createTally } from '../platform/telemetry/tally.ts';

/** Counts what billing does, from outside. */
export interface BillingMetrics {
  admissions(inner: Admissions): Admissions;
  settlements(inner: Settlements): Settlements;
}

export function createBillingMetrics(registry: Registry): BillingMetrics {
  const admissionsBy = createTally(registry, {
    name: 'souk_admissions_total',
    help: 'Calls that asked to be let in, by what became of them: started, cached, joined or refused.',
    labels: ['operation', 'outcome'],
  });
  const unitsSettled = createTally(registry, {
    name: 'souk_units_settled_total',
    help: 'Units charged.',
    labels: [],
  })();

  return {
    admissions: (inner) => ({
      ...inner,
      async admit(request) {
        try {
          const admission = await inner.admit(request);
          const outcome = outcomeOf(admission, request);
          admissionsBy(request.operation, outcome).value += 1;
          if (outcome === 'cached') unitsSettled.value += request.units;
          return admission;
        } catch (error) {
          if (error instanceof SoukError) admissionsBy(request.operation, 'refused').value += 1;
          throw error;
        }
      },
    }),
    settlements: (inner) => ({
      async end(ending) {
        const ended = await inner.end(ending);
        if (ended?.endedNow) unitsSettled.value += ended.unitsCharged;
        return ended;
      },
    }),
  };
}

/** A call that joins itself was let in by an attempt whose answer was lost. */
function outcomeOf({ kind, callId }: Admission, request: CallRequest): Admission['kind'] {
  if (kind !== 'joined' || callId !== request.callId) return kind;
  return request.answer === null ? 'started' : 'cached';
}
