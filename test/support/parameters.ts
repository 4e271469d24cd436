import { expect } from 'vitest';
import type { z } from 'zod';
import type { Route } from '../../src/operations/define.ts';
import { faultsIn } from '../../src/operations/faults.ts';

export interface TakingParameters<Input> {
  params: z.ZodType<Input>;
  routes: readonly [Route, ...Route[]];
}

/** Returns the canonical input of a request with this query or body. */
export function canonical<Input>(operation: TakingParameters<Input>, sent: unknown): Input {
  return operation.params.parse(decoded(operation, sent));
}

/** Returns the faults of a request by parameter. Each parameter has one fault. */
export function faultsOf(operation: TakingParameters<unknown>, sent: unknown): Record<string, string> {
  const result = operation.params.safeParse(decoded(operation, sent));
  const faults: Record<string, string> = {};
  for (const { parameter, problem } of result.error ? faultsIn(result.error) : []) {
    if (Object.hasOwn(faults, parameter))
      throw new Error(`${parameter} is named twice: ${faults[parameter]}; ${problem}`);
    faults[parameter] = problem;
  }
  return faults;
}

function decoded({ routes: [route] }: TakingParameters<unknown>, sent: unknown): unknown {
  return route.decode
    ? route.decode({
        query: sent as Record<string, unknown>,
        body: sent,
        params: sent as Record<string, unknown>,
      })
    : sent;
}

/** Matches a problem that ends with the value that was sent. */
export function withValue(problem: string): string {
  const escaped = problem.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return expect.stringMatching(new RegExp(`^${escaped}, got \\S`));
}

/** Returns a number of different ASINs. */
export function asins(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `B${String(i).padStart(9, '0')}`);
}
