import type { ComponentChildren, VNode } from 'preact';

export type Tone = 'good' | 'bad' | 'warn' | 'busy' | '';

export function Tag({ tone = '', children }: { tone?: Tone; children: ComponentChildren }): VNode {
  return <span class={tone ? `tag ${tone}` : 'tag'}>{children}</span>;
}

/** A tag with a tone and a text. */
export function ToneTag({ of: [tone, text] }: { of: readonly [Tone, string] }): VNode {
  return <Tag tone={tone}>{text}</Tag>;
}

/** Tones of the states of jobs, batches, runs and deliveries. */
const TONES: Record<string, Tone> = {
  done: 'good',
  delivered: 'good',
  finished: 'good',
  failed: 'bad',
  expired: 'warn',
  skipped: 'warn',
  waiting: 'warn',
  queued: 'busy',
  running: 'busy',
  started: 'busy',
  pending: 'busy',
};

export function StateTag({ state }: { state: string }): VNode {
  return <Tag tone={TONES[state] ?? ''}>{state}</Tag>;
}
