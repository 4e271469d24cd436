import type { VNode } from 'preact';
import type { AccountKey } from '../../accounts/account-keys.ts';
import { scopesInWords } from '../../accounts/key-settings.ts';
import { isLoopback } from '../../api/connect/resources.ts';
import type { KeyUnits } from '../../billing/key-warning.ts';
import { Facts, ToneTag } from '../kit/elements.tsx';
import { PostButton } from '../kit/form.tsx';
import { Table } from '../kit/table.tsx';
import { count, Time } from '../kit/words.tsx';

export const KEYS_PATH = '/account/keys';

export const KEY_STATES = {
  active: ['good', 'Active'],
  rotated: ['warn', 'Expiring'],
  expired: ['', 'Expired'],
  revoked: ['bad', 'Revoked'],
} as const;

/** The key of a program that a person has connected. */
export type Connection = AccountKey & { connection: NonNullable<AccountKey['connection']> };

export function isConnection(key: AccountKey): key is Connection {
  return key.connection !== null;
}

const NOTHING_USED: KeyUnits = { day: 0, month: 0 };

/** The connections of an account below its keys. */
export function Connections(props: {
  connections: readonly Connection[];
  used: ReadonlyMap<number, KeyUnits>;
  mayChange: (key: AccountKey) => boolean;
}): VNode {
  const { connections, used, mayChange } = props;
  const usedBy = ({ id }: Connection) => used.get(id) ?? NOTHING_USED;
  return (
    <section aria-labelledby="connections">
      <h2 id="connections">Connections</h2>
      <p>
        Programs that people have connected by signing in, such as an assistant. Each has a budget and an end.
        Those with test data are listed in the test account, those with live data in the live account.{' '}
        <a href="/docs/connections">How to connect a program</a>
      </p>
      <Table
        name="Connections"
        empty="No programs are connected."
        rows={connections.toReversed()}
        columns={[
          [
            'Program',
            ({ id, createdByPerson, connection: { clientName, host } }) => (
              <>
                <a href={`${KEYS_PATH}/${id}`}>{clientName}</a>
                <br />
                <small>
                  {hostText(host)}, connected by {personText(createdByPerson)}
                </small>
              </>
            ),
            'row',
          ],
          ['State', ({ state }) => <ToneTag of={KEY_STATES[state]} />],
          ['May', ({ scopes }) => scopesInWords(scopes)],
          [
            'Units',
            (one) => (
              <>
                {ofCap(usedBy(one).day, one.capDay)} today
                <br />
                {ofCap(usedBy(one).month, one.capMonth)} this month
              </>
            ),
          ],
          ['Last used', ({ lastUsedAt }) => lastUse(lastUsedAt)],
          ['Valid until', ({ revokedAt, expiresAt }) => <Time at={revokedAt ?? expiresAt} />],
          ['Action', (one) => mayChange(one) && <RevokeConnection connection={one} />],
        ]}
      />
    </section>
  );
}

/** The facts of a connection on its page. */
export function ConnectionFacts({ connection, used }: { connection: Connection; used: KeyUnits }): VNode {
  const { state, scopes, capDay, capMonth, createdAt, lastUsedAt, expiresAt, revokedAt } = connection;
  const { clientName, host } = connection.connection;
  return (
    <Facts
      facts={[
        ['Program', `${clientName}, as it calls itself`],
        ['Returned to', hostText(host)],
        ['State', <ToneTag key="state" of={KEY_STATES[state]} />],
        ['May', scopesInWords(scopes)],
        ['Units today', ofCap(used.day, capDay)],
        ['Units this month', ofCap(used.month, capMonth)],
        ['Connected', <Time key="created" at={createdAt} />],
        ['Connected by', personText(connection.createdByPerson)],
        ['Last used', lastUse(lastUsedAt)],
        [revokedAt ? 'Revoked' : 'Valid until', <Time key="until" at={revokedAt ?? expiresAt} />],
      ]}
    />
  );
}

/** The button that revokes a connection; none for one that has ended. */
export function RevokeConnection({ connection }: { connection: Connection }): VNode | null {
  const { id, state } = connection;
  if (state !== 'active') return null;
  const { clientName } = connection.connection;
  return (
    <PostButton
      action={`${KEYS_PATH}/revoke`}
      fields={{ id: String(id) }}
      confirm={`Revoke the connection of ${clientName}? The program is refused immediately.`}
      class="small danger"
    >
      Revoke
    </PostButton>
  );
}

/** A use of units with its cap. */
export function ofCap(used: number, cap: number | null): string {
  return cap === null ? count(used) : `${count(used)} of ${count(cap)}`;
}

/** Ports of loopback addresses say nothing: programs choose a new one each time. */
function hostText(host: string | null): string {
  if (host === null) return 'a device';
  const url = new URL(`http://${host}`);
  return isLoopback(url) ? url.hostname : host;
}

function personText(person: AccountKey['createdByPerson']): string {
  return person?.email ?? 'a person who was deleted';
}

export function lastUse(at: Date | null): VNode {
  return at ? <Time at={at} /> : <span class="muted">never</span>;
}
