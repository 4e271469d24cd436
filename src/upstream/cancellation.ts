/** A call that can be cancelled while its requests have not been sent. */
export interface Cancellable {
  /** Aborts at the deadline, also a request that was sent. */
  signal: AbortSignal;
  /** Aborts when the call is cancelled: nothing more is sent, and what was sent runs to its end. */
  cancelled?: AbortSignal;
}

/** Returns the signal for everything that waits before a request is sent. */
export function beforeSending({ signal, cancelled }: Cancellable): AbortSignal {
  return cancelled ? AbortSignal.any([signal, cancelled]) : signal;
}
