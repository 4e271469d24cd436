import { type LedgerLine, ledgerLines } from '../../billing/ledger-lines.ts';
import { usage, type WalletBalances, walletBalances } from '../../billing/statement.ts';
import { ACTIVITY_RANGES, activityFields } from '../../operator/activity/activity.ts';
import { readActivity } from '../../operator/activity/read-activity.ts';
import { wholeNumber } from '../../operator/fields.ts';
import { MARGIN_GROUPS, marginFields } from '../../operator/margin/margin.ts';
import { readMargin } from '../../operator/margin/read-margin.ts';
import { DAY_MS } from '../../platform/durations.ts';
import { type Column, command, knownAccount, OF_ACCOUNT, ofAccount, reportOf, table } from '../terminal.ts';

const SUMS: readonly Column<{ calls: number; units: number }>[] = [
  ['Calls', ({ calls }) => calls],
  ['Units', ({ units }) => units],
];

const SUBSCRIPTION_COLUMNS: readonly Column<WalletBalances['subscriptions'][number]>[] = [
  ['ID', ({ id }) => String(id)],
  ['Wallet', ({ wallet }) => wallet],
  ['Plan', ({ planName }) => planName],
  ['Quantity', ({ quantity }) => quantity],
  ['Today', ({ dayUsed }) => dayUsed],
  ['Of', ({ dailyLimit }) => dailyLimit],
  ['This month', ({ monthUsed }) => monthUsed],
  ['Of', ({ monthlyLimit }) => monthlyLimit],
  ['Month resets at', ({ monthEnd }) => new Date(monthEnd)],
  ['Until', ({ endsAt }) => new Date(endsAt)],
];

const PACK_COLUMNS: readonly Column<WalletBalances['packs'][number]>[] = [
  ['ID', ({ id }) => String(id)],
  ['Wallet', ({ wallet }) => wallet],
  ['Left', ({ remainingUnits }) => remainingUnits],
  ['Of', ({ totalUnits }) => totalUnits],
  ['Calls per minute', ({ rateLimitPerMinute }) => rateLimitPerMinute],
  ['Valid', ({ valid }) => (valid ? 'yes' : 'no')],
  ['Until', ({ validUntil }) => new Date(validUntil)],
];

export const usageCommand = command({
  name: 'usage',
  description: 'shows the units an account has used and its remaining allowance',
  required: OF_ACCOUNT,
  options: { '--days <N>': ['number of days, including today', '30'] },
  input: ofAccount.extend({ days: wholeNumber(1, 3_650) }),
  async run({ database, now }, { account, days }) {
    await knownAccount(database, account);
    const today = Math.floor(now / DAY_MS) * DAY_MS;
    const period = { from: today - (days - 1) * DAY_MS, to: today + DAY_MS };
    const used = await usage(database, account, period);
    const { subscriptions, packs } = await walletBalances(database, account, now);
    return {
      data: {
        accountId: account,
        from: new Date(period.from),
        to: new Date(period.to),
        ...used,
        subscriptions: subscriptions.map((one) => ({ ...one, endsAt: new Date(one.endsAt) })),
        packs: packs.map((one) => ({
          ...one,
          validFrom: new Date(one.validFrom),
          validUntil: new Date(one.validUntil),
        })),
      },
      text: [
        `Last ${days} days: ${used.calls} calls, ${used.units} units.`,
        ...(used.calls === 0
          ? []
          : [
              table([['Operation', ({ operation }) => operation], ...SUMS], used.byOperation),
              table([['Day', ({ day }) => day], ...SUMS], used.byDay),
            ]),
        `Subscriptions:\n${table(SUBSCRIPTION_COLUMNS, subscriptions)}`,
        `Packs:\n${table(PACK_COLUMNS, packs)}`,
      ].join('\n\n'),
    };
  },
});

const showLines = reportOf<Omit<LedgerLine, 'at'> & { at: Date }>([
  ['Line', ({ id }) => String(id)],
  ['Date', ({ at }) => at],
  ['Kind', ({ kind }) => kind],
  ['Wallet', ({ wallet }) => wallet],
  ['Pack or subscription', ({ source, sourceId }) => `${source} ${sourceId}`],
  ['Units', ({ units }) => units],
  ['Change', ({ change }) => change],
  ['Operation', ({ operation }) => operation],
  ['Call', ({ callId }) => callId],
]);

export const ledgerCommand = command({
  name: 'ledger',
  description: 'lists grants, reservations, charges and releases, newest first',
  required: OF_ACCOUNT,
  options: {
    '--limit <N>': ['maximum number of lines', '50'],
    '--before <L>': 'only lines before this line',
  },
  input: ofAccount.extend({
    limit: wholeNumber(1, 10_000),
    before: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
  }),
  async run({ database }, { account, limit, before }) {
    await knownAccount(database, account);
    const page = before === undefined ? { limit } : { limit, before };
    const lines = await ledgerLines(database, account, page);
    return showLines(lines.map((line) => ({ ...line, at: new Date(line.at) })));
  },
});

export const activityCommand = command({
  name: 'activity',
  description: 'shows revenue, customers, conversion, churn, use, errors, run times and queues',
  options: { '--range <R>': [`range: ${Object.keys(ACTIVITY_RANGES).join(', ')}`, '30d'] },
  input: activityFields,
  async run({ database, config, now }, { range }) {
    const report = await readActivity(database, range, { currency: config.PAYMENT_CURRENCY, now });
    const figures = report.charts.flatMap(({ title, unit, series }) =>
      series.map((one) => ({ ...one, title, unit })),
    );
    const drawn = table(
      [
        ['Chart', ({ title }) => title],
        ['Figure', ({ name }) => name],
        ['Total', ({ total }) => (total === null ? null : Math.round(total * 100) / 100)],
        ['Unit', ({ unit }) => unit],
        ['Since', ({ since }) => since],
      ],
      figures,
    );
    const period = `${report.from} to ${report.to}. --json has all figures by ${report.step}.`;
    return { data: report, text: `${period}\n\n${drawn}` };
  },
});

export const marginCommand = command({
  name: 'margin',
  description: 'shows revenue, cost of tokens and margin',
  options: {
    '--from <D>': 'first day (UTC); default: 29 days before the last',
    '--to <D>': 'last day (UTC), included; default: today',
    '--by <G>': [`group: ${Object.keys(MARGIN_GROUPS).join(', ')}`, 'day'],
  },
  input: ({ now }) => marginFields(now),
  async run({ database, config, now }, query) {
    const { PAYMENT_CURRENCY: currency, UPSTREAM_TOKEN_PRICE: tokenPrice = null } = config;
    const report = await readMargin(database, query, { currency, tokenPrice, now });
    const { totals, by, from, to } = report;
    const price = new Intl.NumberFormat('en', { style: 'currency', currency: currency.toUpperCase() });
    const money = (cents: number) => price.format(cents / 100);
    const rows = by === 'day' ? report.rows : report.rows.toSorted((a, b) => b.marginCents - a.marginCents);
    const drawn = table(
      [
        [MARGIN_GROUPS[by], ({ name }) => name],
        ['Units', ({ units }) => units],
        ['Revenue', ({ revenueCents }) => money(revenueCents)],
        ['From unused units', ({ unusedCents }) => money(unusedCents)],
        ['Tokens', ({ tokens }) => tokens],
        ['Cost', ({ costCents }) => money(costCents)],
        ['Saved', ({ savedCents }) => money(savedCents)],
        ['Margin', ({ marginCents }) => money(marginCents)],
      ],
      [...rows, { ...totals, name: 'Total' }],
    );
    return {
      data: report,
      text: [
        `${from} to ${to} (UTC).${tokenPrice === null ? ' UPSTREAM_TOKEN_PRICE is not set: tokens have no cost.' : ''}`,
        drawn,
        `Paid: ${money(totals.paidCents)}. Refunded: ${money(totals.refundedCents)}. Deferred: ${money(totals.deferredCents)}.`,
      ].join('\n\n'),
    };
  },
});
