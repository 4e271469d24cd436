import type { VNode } from 'preact';
import type { AccountState } from '../../accounts/accounts.ts';

const STATES = {
  active: ['good', 'Active'],
  disabled: ['bad', 'Disabled'],
  unavailable: ['bad', 'Closed'],
} as const;

export function AccountTag({ state }: { state: AccountState }): VNode {
  const [tone, text] = STATES[state];
  return <span class={`tag ${tone}`}>{text}</span>;
}
