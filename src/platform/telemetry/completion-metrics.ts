import type { Registry } from 'prom-client';
import { createTally } from './tally.ts';

/** Counts the completion messages that a process has decoded: on its own channel, and on the one of all processes. */
export function createCompletionMetrics(registry: Registry): (channel: 'own' | 'common') => void {
  const receivedOn = createTally(registry, {
    name: 'souk_completions_received_total',
    help: 'Completion messages that this process has decoded, by channel: own, or common to all processes.',
    labels: ['channel'],
  });
  const cells = { own: receivedOn('own'), common: receivedOn('common') };
  return (channel) => {
    cells[channel].value += 1;
  };
}
