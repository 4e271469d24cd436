import type { CallEvent, CallEventSink } from '../../src/platform/telemetry/call-events.ts';
import { createSignals } from './signals.ts';

type Type = CallEvent['type'];
type EventOf<Name extends Type> = Extract<CallEvent, { type: Name }>;

/** Waits for what happens to calls, instead of for a time: `await events.until('job.started', { callId })`. */
export interface CallEventSpy {
  onEvent: CallEventSink;
  /** The events of a type so far, with these fields. */
  seen<Name extends Type>(type: Name, fields?: Partial<EventOf<Name>>): EventOf<Name>[];
  /** Resolves with the first event of a type with these fields, even if it is past; with `howMany`, with the last of as many. */
  until<Name extends Type>(
    type: Name,
    fields?: Partial<EventOf<Name>>,
    howMany?: number,
  ): Promise<EventOf<Name>>;
  /** Resolves with the first event from now on: `const queued = events.next('call.queued'); ...; await queued`. */
  next<Name extends Type>(
    type: Name,
    fields?: Partial<EventOf<Name>>,
    howMany?: number,
  ): Promise<EventOf<Name>>;
  /** Forgets all events. */
  forget(): void;
}

export function createCallEventSpy(): CallEventSpy {
  const events: CallEvent[] = [];
  const signals = createSignals(() => events);

  function seen<Name extends Type>(type: Name, fields: Partial<EventOf<Name>> = {}): EventOf<Name>[] {
    const isWanted = (event: CallEvent): event is EventOf<Name> =>
      event.type === type &&
      Object.entries(fields).every(([name, value]) => (event as Record<string, unknown>)[name] === value);
    return events.filter(isWanted);
  }

  const until: CallEventSpy['until'] = (type, fields = {}, howMany = 1) =>
    signals.until(`${howMany} x ${type} ${JSON.stringify(fields)}`, () => seen(type, fields)[howMany - 1]);

  return {
    onEvent(event) {
      events.push(event);
      signals.changed();
    },
    seen,
    until,
    next: (type, fields = {}, howMany = 1) => until(type, fields, seen(type, fields).length + howMany),
    forget() {
      events.length = 0;
    },
  };
}
