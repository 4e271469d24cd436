import { isTestAccount } from '../accounts/test-accounts.ts';
import type { CallEventSink } from '../platform/telemetry/call-events.ts';

/**
 * Passes only events that are not about a test account. Metrics, and the usage statistics that the operator compares with
 * purchases and tokens, are about live calls.
 */
export function ofLiveCalls(sink: CallEventSink): CallEventSink {
  return (event) => {
    if ('accountId' in event && event.accountId !== undefined && isTestAccount(event.accountId)) return;
    sink(event);
  };
}
