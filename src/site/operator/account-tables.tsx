import type { VNode } from 'preact';
import type { AccountKey } from '../../accounts/account-keys.ts';
import type { AccountState } from '../../accounts/accounts.ts';
import { scopesInWords } from '../../accounts/key-settings.ts';
import type { LedgerLine } from '../../billing/ledger-lines.ts';
import type { Purchase } from '../../billing/payments/purchases.ts';
import type { RenewingPlan } from '../../billing/payments/sync-renewal.ts';
import type { WalletBalances } from '../../billing/statement.ts';
import { windowText } from '../../billing/wallets.ts';
import type { RecentCall, SubscriptionFacts } from '../../operator/account-facts.ts';
import { ERRORS } from '../../platform/errors.ts';
import type { Connection } from '../customer/connections.tsx';
import { PaidAmount, PurchaseTag, purchaseText } from '../customer/purchases.tsx';
import { RenewalTag } from '../customer/renewals.tsx';
import { Tag, ToneTag } from '../kit/elements.tsx';
import { Table, tableOf } from '../kit/table.tsx';
import { count, Dash, money, Time, WALLET_NAMES } from '../kit/words.tsx';

const ACCOUNT_STATES = {
  active: ['good', 'Active'],
  disabled: ['bad', 'Disabled'],
  unavailable: ['bad', 'Closed'],
} as const;

export function AccountTag({ state }: { state: AccountState }): VNode {
  return <ToneTag of={ACCOUNT_STATES[state]} />;
}

export function SubscriptionTable(props: {
  subscriptions: readonly SubscriptionFacts[];
  balances: WalletBalances;
  now: number;
}): VNode {
  const { subscriptions, balances, now } = props;
  const meters = new Map(balances.subscriptions.map((meter) => [meter.id, meter]));
  return (
    <Table
      name="Subscriptions"
      rows={subscriptions.map((subscription) => ({ ...subscription, meter: meters.get(subscription.id) }))}
      columns={[
        ['Plan', ({ planName, quantity }) => `${planName}${quantity > 1 ? ` × ${quantity}` : ''}`],
        ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
        ['From', ({ startsAt }) => <Time at={startsAt} />],
        ['To', ({ endsAt }) => <Time at={endsAt} />],
        ['State', ({ startsAt, endsAt }) => <RunTag startsAt={startsAt} endsAt={endsAt} now={now} />],
        ['Units today', ({ meter }) => (meter ? used(meter.dayUsed, meter.dailyLimit) : '-'), 'number'],
        [
          'Units this month',
          ({ meter }) => (meter ? used(meter.monthUsed, meter.monthlyLimit) : '-'),
          'number',
        ],
        ['Month resets at', ({ meter }) => (meter ? <Time at={new Date(meter.monthEnd)} /> : '-')],
      ]}
    />
  );
}

function used(units: number, limit: number | null): string {
  return `${count(units)} of ${count(limit)}`;
}

function RunTag({ startsAt, endsAt, now }: { startsAt: Date; endsAt: Date; now: number }): VNode {
  if (endsAt.getTime() <= now) return <Tag>ended</Tag>;
  return startsAt.getTime() > now ? <Tag tone="busy">scheduled</Tag> : <Tag tone="good">active</Tag>;
}

export const PackTable = tableOf<WalletBalances['packs'][number]>('Packs', 'None.', [
  ['Number', ({ id }) => id, 'number'],
  ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
  ['Window', ({ window }) => (window ? windowText(window) : '-')],
  ['Left', ({ remainingUnits }) => count(remainingUnits), 'number'],
  ['Of', ({ totalUnits }) => count(totalUnits), 'number'],
  ['Calls per minute', ({ rateLimitPerMinute }) => count(rateLimitPerMinute), 'number'],
  ['Valid until', ({ validUntil }) => <Time at={validUntil} />],
  ['State', ({ valid }) => (valid ? <Tag tone="good">valid</Tag> : <Tag>expired</Tag>)],
]);

export const KeyTable = tableOf<AccountKey>('Keys', 'None.', [
  ['Key', ({ prefix }) => <code>{prefix}…</code>],
  ['State', ({ state }) => <Tag tone={state === 'active' ? 'good' : ''}>{state}</Tag>],
  ['Created', ({ createdAt }) => <Time at={createdAt} />],
  ['Last used', ({ lastUsedAt }) => <Time at={lastUsedAt} />],
  ['Valid until', ({ revokedAt, expiresAt }) => <Time at={revokedAt ?? expiresAt} />],
]);

export const ConnectionTable = tableOf<Connection>('Connections', 'None.', [
  ['Program', ({ connection }) => connection.clientName],
  ['Returned to', ({ connection }) => connection.host ?? 'a device'],
  ['State', ({ state }) => <Tag tone={state === 'active' ? 'good' : ''}>{state}</Tag>],
  ['Connected by', ({ createdByPerson }) => createdByPerson?.email ?? <Dash />],
  ['May', ({ scopes }) => scopesInWords(scopes), 'long'],
  ['Units a day', ({ capDay }) => count(capDay), 'number'],
  ['Units a month', ({ capMonth }) => count(capMonth), 'number'],
  ['Created', ({ createdAt }) => <Time at={createdAt} />],
  ['Last used', ({ lastUsedAt }) => <Time at={lastUsedAt} />],
  ['Valid until', ({ revokedAt, expiresAt }) => <Time at={revokedAt ?? expiresAt} />],
]);

export const PurchaseTable = tableOf<Purchase>('Purchases', 'None.', [
  ['Created', ({ createdAt }) => <Time at={createdAt} />],
  ['Item', purchaseText],
  ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
  ['Amount', (purchase) => <PaidAmount purchase={purchase} />, 'number'],
  ['Payment provider', ({ provider }) => provider],
  ['State', (purchase) => <PurchaseTag purchase={purchase} />],
  ['Purchase id', ({ id }) => <code class="id">{id}</code>],
]);

const CALL_STATES = {
  reserved: ['busy', 'running'],
  settled: ['good', 'done'],
  released: ['bad', 'failed'],
} as const;

export const CallTable = tableOf<RecentCall>('Recent calls', 'None.', [
  ['Accepted', ({ acceptedAt }) => <Time at={acceptedAt} />],
  [
    'Operation',
    ({ operation, background }) => (
      <>
        <code>{operation}</code> {background && <Tag>batch</Tag>}
      </>
    ),
  ],
  ['State', ({ state }) => <ToneTag of={CALL_STATES[state]} />],
  ['Reserved', ({ unitsReserved }) => count(unitsReserved), 'number'],
  ['Charged', ({ unitsCharged }) => count(unitsCharged), 'number'],
  [
    'Error',
    ({ id, error }) =>
      error ? <a href={`/admin/errors?q=${id}`}>{ERRORS[error.kind]?.code ?? error.kind}</a> : '-',
  ],
  ['Job', ({ id }) => <code class="id">{id}</code>],
]);

export const LedgerTable = tableOf<LedgerLine>('Ledger', 'No ledger lines yet.', [
  ['Line', ({ id }) => id, 'number'],
  ['Date', ({ at }) => <Time at={at} />],
  ['Kind', ({ kind }) => kind],
  [
    'Pack or subscription',
    ({ source, sourceId, wallet }) =>
      `${source} ${sourceId}${wallet ? `, ${WALLET_NAMES[wallet].toLowerCase()}` : ''}`,
  ],
  ['Units', ({ units }) => count(units), 'number'],
  ['Change', ({ change }) => (change === 0 ? '-' : `${change > 0 ? '+' : ''}${count(change)}`), 'number'],
  ['Job', ({ callId }) => (callId ? <code class="id">{callId}</code> : <Dash />)],
]);

/** The plans of an account that Stripe renews. */
export function RenewalTable({ plans }: { plans: readonly RenewingPlan[] }): VNode {
  return (
    <>
      <h2>Plans that renew</h2>
      <Table
        name="Plans that renew"
        rows={plans}
        columns={[
          ['Plan', renewalText],
          ['Wallet', ({ wallet }) => WALLET_NAMES[wallet]],
          ['State', (plan) => <RenewalTag plan={plan} />],
          ['Paid until', ({ periodEnd }) => <Time at={periodEnd} />],
          ['Grace until', ({ graceUntil }) => <Time at={graceUntil} />],
          ['Next payment', ({ amountCents, currency }) => money(amountCents, currency), 'number'],
          ["Stripe's id", ({ id }) => <code class="id">{id}</code>],
        ]}
      />
    </>
  );
}

function renewalText({ planName, quantity, nextPlanName }: RenewingPlan): string {
  return `${planName}${quantity > 1 ? ` × ${quantity}` : ''}${nextPlanName === null ? '' : `, then ${nextPlanName}`}`;
}
