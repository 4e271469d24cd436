import type { VNode } from 'preact';
import type { AccountKey } from '../../../accounts/account-keys.ts';
import type { KeyUnits } from '../../../billing/key-units.ts';
import { PostButton } from '../../kit/form.tsx';
import { Table } from '../../kit/table.tsx';
import { ToneTag } from '../../kit/tag.tsx';
import { Time } from '../../kit/words.tsx';

export const KEYS_PATH = '/account/keys';

export const KEY_STATES = {
  active: ['good', 'Active'],
  rotated: ['warn', 'Expiring'],
  expired: ['', 'Expired'],
  revoked: ['bad', 'Revoked'],
} as const;

export function KeyTable(props: { keys: readonly AccountKey[]; used: ReadonlyMap<number, KeyUnits> }): VNode {
  const { keys, used } = props;
  return (
    <Table
      name="API keys"
      rows={keys.toReversed()}
      columns={[
        [
          'Key',
          ({ id, name, prefix }) => (
            <a href={`${KEYS_PATH}/${id}`}>
              {name && `${name} `}
              <code class="id">{prefix}…</code>
            </a>
          ),
        ],
        ['State', ({ state }) => <ToneTag of={KEY_STATES[state]} />],
        ['Scopes', ({ scopes }) => scopes?.join(', ') ?? 'all'],
        ['Units this month', ({ id }) => (used.get(id)?.month ?? 0).toLocaleString('en'), 'number'],
        ['Created', ({ createdAt }) => <Time at={createdAt} />],
        [
          'Last used',
          ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : <span class="muted">never</span>),
        ],
        ['Valid until', ({ revokedAt, expiresAt }) => lastTime(revokedAt ?? expiresAt)],
        ['Action', (key) => <Revoke apiKey={key} />],
      ]}
    />
  );
}

function lastTime(at: Date | null): VNode | string {
  return at ? <Time at={at} /> : 'no end date';
}

/** The button that revokes a key; none for a key that does not work. */
export function Revoke({ apiKey: { id, prefix, state } }: { apiKey: AccountKey }): VNode | null {
  if (state !== 'active' && state !== 'rotated') return null;
  return (
    <PostButton
      action={`${KEYS_PATH}/revoke`}
      fields={{ id: String(id) }}
      confirm={`Revoke ${prefix}…? Requests with this key are refused immediately.`}
      class="small danger"
    >
      Revoke
    </PostButton>
  );
}
