import type { ParameterFault } from '../platform/errors.ts';

/** A fault of the request, or of one of its items. */
export type BatchFault = ParameterFault & { index?: number };

/** All faults of a request. */
export class BatchFaults extends Error {
  readonly faults: readonly BatchFault[];

  constructor(faults: readonly BatchFault[]) {
    super(`${faults.length} faults`);
    this.faults = faults;
  }
}
