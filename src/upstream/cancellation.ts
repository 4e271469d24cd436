/** A call that can be cancelled while its requests have not been sent. */
export interface Cancellable {
  /** Aborts at the deadline, also a request that was sent. */
  signal: AbortSignal;
  /** Aborts when the call is cancelled: nothing more is sent, and what was sent runs to its end. */
  cancelled?: AbortSignal;
}

/** @throws the reason of a signal that has aborted. */
export function throwIfAborted({ signal, cancelled }: Cancellable): void {
  signal.throwIfAborted();
  cancelled?.throwIfAborted();
}

/** Creates the signal for a wait before a request is sent. Combining signals takes time, so a call that does not wait has none. */
export function beforeSending({ signal, cancelled }: Cancellable): AbortSignal {
  return cancelled ? AbortSignal.any([signal, cancelled]) : signal;
}
