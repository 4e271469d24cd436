import type { Logger } from '../../src/log.ts';
import type { Source } from '../../src/operations/define.ts';
import type { InputOf, RawOf } from '../../src/operations/index.ts';
import type { KeepaTransport } from '../../src/upstream/keepa/transport.ts';

/** The upstream sources a handler may ask. */
export interface Upstreams {
  keepa: KeepaTransport;
}

export interface HandlerContext {
  /** Aborts at the deadline; to be handed to everything that waits. */
  signal: AbortSignal;
  /** Unix milliseconds. */
  deadlineAt: number;
  /** Nobody waits for the answer. */
  background: boolean;
  upstream: Upstreams;
  log: Logger;
}

/**
 * Fetches the raw data of an operation: those of its sources that are missing, by key. A source that upstream has
 * nothing for is left out.
 */
export type Handler<Operation> = (
  input: InputOf<Operation>,
  missing: readonly Source[],
  context: HandlerContext,
) => Promise<ReadonlyMap<string, RawOf<Operation>>>;

/** The handler of an operation with a single source. */
export function single<Operation>(
  fetch: (input: InputOf<Operation>, context: HandlerContext) => Promise<RawOf<Operation>>,
): Handler<Operation> {
  return async (input, missing, context) => {
    const value = await fetch(input, context);
    return new Map(missing.map(({ key }) => [key, value]));
  };
}
