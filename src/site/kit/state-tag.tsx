import type { VNode } from 'preact';

/** How states look, whatever is in them. */
const TONES: Record<string, string> = {
  done: 'good',
  delivered: 'good',
  started: 'good',
  failed: 'bad',
  expired: 'warn',
  skipped: 'warn',
  waiting: 'warn',
  queued: 'busy',
  running: 'busy',
  pending: 'busy',
};

export function StateTag({ state }: { state: string }): VNode {
  return <span class={`tag ${TONES[state] ?? ''}`}>{state}</span>;
}
