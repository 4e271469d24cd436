import type { CallEvent, CallEventSink } from '../../src/platform/telemetry/call-events.ts';

type Type = CallEvent['type'];
type EventOf<Name extends Type> = Extract<CallEvent, { type: Name }>;

/** Waits for what happens to calls, instead of for a time: `const queued = events.next('call.queued'); ...; await queued`. */
export interface CallEventSpy {
  onEvent: CallEventSink;
  /** The events of a type so far, with these fields. */
  seen<Name extends Type>(type: Name, fields?: Partial<EventOf<Name>>): EventOf<Name>[];
  /** Resolves with the next event of a type with these fields; with several, once as many have come. */
  next<Name extends Type>(
    type: Name,
    fields?: Partial<EventOf<Name>>,
    howMany?: number,
  ): Promise<EventOf<Name>>;
}

export function createCallEventSpy(): CallEventSpy {
  const events: CallEvent[] = [];
  const listeners = new Set<CallEventSink>();

  function is<Name extends Type>(
    event: CallEvent,
    type: Name,
    fields: Partial<EventOf<Name>>,
  ): event is EventOf<Name> {
    return (
      event.type === type &&
      Object.entries(fields).every(([name, value]) => (event as Record<string, unknown>)[name] === value)
    );
  }

  return {
    onEvent(event) {
      events.push(event);
      for (const listener of listeners) listener(event);
    },
    seen: (type, fields = {}) => events.filter((event) => is(event, type, fields)),
    next(type, fields = {}, howMany = 1) {
      return new Promise((resolve) => {
        let left = howMany;
        const listener = (event: CallEvent) => {
          if (!is(event, type, fields)) return;
          left -= 1;
          if (left > 0) return;
          listeners.delete(listener);
          resolve(event);
        };
        listeners.add(listener);
      });
    },
  };
}
