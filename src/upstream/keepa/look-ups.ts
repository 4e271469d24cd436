import type { Product } from '../../operations/products/product.ts';
import type { Clock } from '../../platform/clock.ts';
import { SoukError } from '../../platform/errors.ts';
import { fingerprint } from '../../platform/fingerprint.ts';
import { RequestRejected } from '../request-rejected.ts';
import { asinsPerCall, type FetchOptions, fetchProducts } from './products.ts';
import type { CallContext, KeepaTransport } from './transport.ts';

/** Looks up products, for several calls in one request. */
export interface ProductLookUps {
  /**
   * Fetches products like `fetchProducts`. Look-ups with equal options that follow each other within the window share a
   * request. Look-ups of batches, forced look-ups and those with offers do not.
   */
  fetch(
    asins: readonly string[],
    options: FetchOptions,
    context: CallContext,
  ): Promise<ReadonlyMap<string, Product>>;
}

/** A look-up is sent at once, unless another one was sent within this time. */
export const LOOK_UP_WINDOW_MS = 3;

/** A look-up that waits for a shared request or its answer. */
interface Member {
  asins: readonly string[];
  context: CallContext;
  /** Ends the look-up with what the request found. */
  resolve(found: ReadonlyMap<string, Product>): void;
  reject(error: unknown): void;
  /** From now on, cancelling the look-up does not end it. */
  sent(): void;
  readonly hasEnded: boolean;
}

/** The look-ups that wait for the end of a window. */
interface Window {
  members: Member[];
  asins: number;
  close(): void;
}

/** @param windowMs 0: each look-up has a request of its own. */
export function createProductLookUps(keepa: KeepaTransport, clock: Clock, windowMs: number): ProductLookUps {
  const windows = new Map<string, Window>();

  /** Opens a window after a request was sent. Look-ups that arrive within it share the next request. */
  function open(key: string, options: FetchOptions): void {
    const cancel = clock.after(windowMs, () => window.close(), 'look-up window');
    const window: Window = {
      members: [],
      asins: 0,
      close() {
        cancel();
        windows.delete(key);
        if (window.members.length === 0) return;
        open(key, options);
        void send(window.members, options);
      },
    };
    windows.set(key, window);
  }

  async function send(members: readonly Member[], options: FetchOptions): Promise<void> {
    const waiting = members.filter(({ hasEnded }) => !hasEnded);
    if (waiting.length < 2) return sendEach(waiting, options);
    const asins = [...new Set(waiting.flatMap((member) => member.asins))];
    const { context, end } = sharedContext(waiting);
    try {
      const found = await fetchProducts(keepa, asins, options, context);
      for (const member of waiting) member.resolve(found);
    } catch (error) {
      // The provider does not say which look-up it rejects; the others have data.
      if (error instanceof RequestRejected) return await sendEach(waiting, options);
      for (const member of waiting) member.reject(error);
    } finally {
      end();
    }
  }

  async function sendEach(members: readonly Member[], options: FetchOptions): Promise<void> {
    const fetches = members
      .filter(({ hasEnded }) => !hasEnded)
      .map((member) => {
        member.sent();
        return fetchProducts(keepa, member.asins, options, member.context).then(
          member.resolve,
          member.reject,
        );
      });
    await Promise.all(fetches);
  }

  return {
    fetch(asins, options, context) {
      const most = asinsPerCall(options);
      const isShared =
        windowMs > 0 &&
        options.offers === 0 &&
        options.update !== 0 &&
        !context.background &&
        asins.length < most;
      if (!isShared) return fetchProducts(keepa, asins, options, context);
      const key = keyOf(options);
      if ((windows.get(key)?.asins ?? 0) + asins.length > most) windows.get(key)?.close();
      const window = windows.get(key);
      if (!window) {
        open(key, options);
        return fetchProducts(keepa, asins, options, context);
      }
      return new Promise((resolve, reject) => {
        window.members.push(memberOf(asins, context, { resolve, reject }));
        window.asins += asins.length;
        if (window.asins === most) window.close();
      });
    },
  };
}

/** The provider's answer does not depend on the age that a caller accepts. */
function keyOf({ update: _, ...options }: FetchOptions): string {
  return fingerprint(options);
}

/** Creates a member that ends with its request, at its deadline, or when it is cancelled before its request is sent. */
function memberOf(
  asins: readonly string[],
  context: CallContext,
  { resolve, reject }: { resolve(found: ReadonlyMap<string, Product>): void; reject(error: unknown): void },
): Member {
  const { signal, cancelled } = context;
  let hasEnded = false;
  const end = () => {
    hasEnded = true;
    signal.removeEventListener('abort', onDeadline);
    cancelled?.removeEventListener('abort', onCancelled);
  };
  const fail = (error: unknown) => {
    end();
    reject(error);
  };
  const onDeadline = () => fail(new SoukError('UPSTREAM_TIMEOUT', { cause: signal.reason }));
  const onCancelled = () => fail(cancelled?.reason);
  signal.addEventListener('abort', onDeadline);
  cancelled?.addEventListener('abort', onCancelled);
  if (signal.aborted) onDeadline();
  else if (cancelled?.aborted) onCancelled();
  return {
    asins,
    context,
    resolve(found) {
      end();
      resolve(new Map([...found].filter(([asin]) => asins.includes(asin))));
    },
    reject: fail,
    sent: () => cancelled?.removeEventListener('abort', onCancelled),
    get hasEnded() {
      return hasEnded;
    },
  };
}

/** Creates the context of a shared request: it is aborted when no member waits for it. */
function sharedContext(members: readonly Member[]): { context: CallContext; end(): void } {
  const controller = new AbortController();
  const onEnd = () => {
    if (members.every(({ hasEnded }) => hasEnded))
      controller.abort(new Error('no look-up waits for this request'));
  };
  const signals = members.flatMap(({ context: { signal, cancelled } }) =>
    cancelled ? [signal, cancelled] : [signal],
  );
  for (const signal of signals) signal.addEventListener('abort', onEnd);
  return {
    context: {
      signal: controller.signal,
      deadlineAt: Math.max(...members.map(({ context }) => context.deadlineAt)),
      background: false,
      onSending: () => {
        for (const member of members) member.sent();
      },
      onSpent: (tokens) => divide(tokens, members),
    },
    end() {
      for (const signal of signals) signal.removeEventListener('abort', onEnd);
    },
  };
}

/** Divides the tokens of a request by the number of products, in whole tokens. */
function divide(tokens: number, members: readonly Member[]): void {
  const total = members.reduce((sum, { asins }) => sum + asins.length, 0);
  let counted = 0;
  let spent = 0;
  for (const { asins, context } of members) {
    counted += asins.length;
    const share = Math.round((tokens * counted) / total) - spent;
    spent += share;
    if (share > 0) context.onSpent?.(share);
  }
}
