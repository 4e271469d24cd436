import type { VNode } from 'preact';
import type { AccountKey } from '../../accounts/account-keys.ts';
import type { LedgerLine } from '../../billing/ledger-lines.ts';
import type { Order } from '../../billing/payments/orders.ts';
import type { WalletBalances } from '../../billing/statement.ts';
import type { RecentCall, SubscriptionFacts } from '../../operator/account-facts.ts';
import { ERRORS } from '../../platform/errors.ts';
import { OrderTag, whatOf } from '../customer/plans.tsx';
import { count, money, Time, WALLET_NAMES } from '../kit/words.tsx';
import { DataTable } from './data-table.tsx';

export function SubscriptionTable({
  subscriptions,
  balances,
  now,
}: {
  subscriptions: readonly SubscriptionFacts[];
  balances: WalletBalances;
  now: number;
}): VNode {
  const meters = new Map(balances.subscriptions.map((meter) => [meter.id, meter]));
  return (
    <DataTable
      label="Subscriptions"
      empty="None."
      columns={['Plan', 'Wallet', 'From', 'Until', 'State', '#Units today', '#Units this month']}
      rows={subscriptions.map(({ id, planName, quantity, wallet, startsAt, endsAt }) => {
        const meter = meters.get(id);
        return [
          `${planName}${quantity > 1 ? ` × ${quantity}` : ''}`,
          WALLET_NAMES[wallet],
          <Time at={startsAt} />,
          <Time at={endsAt} />,
          <RunTag startsAt={startsAt} endsAt={endsAt} now={now} />,
          meter ? `${count(meter.dayUsed)} of ${count(meter.dailyLimit)}` : '-',
          meter ? `${count(meter.monthUsed)} of ${count(meter.monthlyLimit)}` : '-',
        ];
      })}
    />
  );
}

function RunTag({ startsAt, endsAt, now }: { startsAt: Date; endsAt: Date; now: number }): VNode {
  if (endsAt.getTime() <= now) return <span class="tag">over</span>;
  return startsAt.getTime() > now ? (
    <span class="tag busy">to come</span>
  ) : (
    <span class="tag good">runs</span>
  );
}

export function PackTable({ packs }: { packs: WalletBalances['packs'] }): VNode {
  return (
    <DataTable
      label="Packs"
      empty="None."
      columns={['#Number', 'Wallet', '#Left', '#Of', '#Calls a minute', 'Until', 'State']}
      rows={packs.map((pack) => [
        String(pack.id),
        WALLET_NAMES[pack.wallet],
        count(pack.remainingUnits),
        count(pack.totalUnits),
        count(pack.rateLimitPerMinute),
        <Time at={pack.validUntil} />,
        <span class={pack.valid ? 'tag good' : 'tag'}>{pack.valid ? 'valid' : 'not valid'}</span>,
      ])}
    />
  );
}

export function KeyTable({ keys }: { keys: readonly AccountKey[] }): VNode {
  return (
    <DataTable
      label="Keys"
      empty="None."
      columns={['Key', 'State', 'Made', 'Last used', 'Works until']}
      rows={keys
        .toReversed()
        .map(({ prefix, state, createdAt, lastUsedAt, expiresAt, revokedAt }) => [
          <code>{prefix}…</code>,
          <span class={state === 'active' ? 'tag good' : 'tag'}>{state}</span>,
          <Time at={createdAt} />,
          <Time at={lastUsedAt} />,
          <Time at={revokedAt ?? expiresAt} />,
        ])}
    />
  );
}

export function OrderTable({ orders }: { orders: readonly Order[] }): VNode {
  return (
    <DataTable
      label="Orders"
      empty="None."
      columns={['Ordered', 'What', 'Wallet', '#Amount', 'Paid by', 'State', 'Number']}
      rows={orders.map((order) => [
        <Time at={order.createdAt} />,
        whatOf(order),
        WALLET_NAMES[order.wallet],
        money(order.amountCents, order.currency),
        order.provider,
        <OrderTag order={order} />,
        <code class="id">{order.id}</code>,
      ])}
    />
  );
}

const CALL_STATES = {
  reserved: ['busy', 'open'],
  settled: ['good', 'answered'],
  released: ['bad', 'failed'],
} as const;

export function CallTable({ calls }: { calls: readonly RecentCall[] }): VNode {
  return (
    <DataTable
      label="Recent calls"
      empty="None."
      columns={['Accepted', 'Operation', 'State', '#Reserved', '#Charged', 'Error', 'Job']}
      rows={calls.map(
        ({ id, operation, state, unitsReserved, unitsCharged, acceptedAt, background, error }) => {
          const [tone, text] = CALL_STATES[state];
          return [
            <Time at={acceptedAt} />,
            <>
              <code>{operation}</code> {background && <span class="tag">batch</span>}
            </>,
            <span class={`tag ${tone}`}>{text}</span>,
            count(unitsReserved),
            count(unitsCharged),
            error ? <a href={`/admin/errors?q=${id}`}>{ERRORS[error.kind]?.code ?? error.kind}</a> : '-',
            <code class="id">{id}</code>,
          ];
        },
      )}
    />
  );
}

export function LedgerTable({ lines }: { lines: readonly LedgerLine[] }): VNode {
  return (
    <DataTable
      label="Ledger"
      empty="No line yet."
      columns={['#Line', 'When', 'What', 'Source', '#Units', '#Balance', 'Job']}
      rows={lines.map(({ id, at, kind, source, sourceId, wallet, units, change, callId }) => [
        String(id),
        <Time at={at} />,
        kind,
        `${source} ${sourceId}${wallet ? `, ${WALLET_NAMES[wallet].toLowerCase()}` : ''}`,
        count(units),
        change === 0 ? '-' : `${change > 0 ? '+' : ''}${count(change)}`,
        callId ? <code class="id">{callId}</code> : <span class="muted">-</span>,
      ])}
    />
  );
}
