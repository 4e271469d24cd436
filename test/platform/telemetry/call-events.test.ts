import { expect, test } from 'vitest';
import { createLogger } from '../../../src/platform/log.ts';
import { createCallEvents } from '../../../src/platform/telemetry/call-events.ts';
import { createCallEventSpy } from '../../support/call-event-spy.ts';

const started = {
  type: 'call.started',
  operation: 'market.product',
  accountId: 1,
  callId: 'a call',
} as const;

test('a sink that throws is logged and breaks neither the call nor other sinks', () => {
  const lines: string[] = [];
  const log = createLogger('error', { write: (line) => void lines.push(line) });
  const spy = createCallEventSpy();
  const broken = () => {
    throw new Error('the disk is full');
  };
  createCallEvents(log, [broken, spy.onEvent]).emit(started);
  expect(spy.seen('call.started')).toEqual([started]);
  expect(lines.join('')).toContain('failed to observe a call event');
  expect(lines.join('')).toContain('the disk is full');
});
