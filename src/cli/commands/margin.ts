import type { Command } from 'commander';
import { readConfig } from '../../config/config.ts';
import { MARGIN_GROUPS, marginFields } from '../../operator/margin/margin.ts';
import { readMargin } from '../../operator/margin/read-margin.ts';
import { type Context, type Given, onDatabase, type Report, readInput, table } from '../terminal.ts';

export function registerMargin(program: Command): void {
  onDatabase(
    program
      .command('margin')
      .description('shows revenue, cost of tokens and margin')
      .option('--from <D>', 'first day (UTC); default: 29 days before the last')
      .option('--to <D>', 'last day (UTC), included; default: today')
      .option('--by <G>', `group: ${Object.keys(MARGIN_GROUPS).join(', ')}`, 'day'),
    showMargin,
  );
}

async function showMargin({ database, env, now }: Context, given: Given): Promise<Report> {
  const { PAYMENT_CURRENCY: currency, UPSTREAM_TOKEN_PRICE: tokenPrice = null } = readConfig(env);
  const query = readInput(marginFields(now), given);
  const report = await readMargin(database, query, { currency, tokenPrice, now });
  const { totals, by, from, to } = report;
  const price = new Intl.NumberFormat('en', { style: 'currency', currency: currency.toUpperCase() });
  const money = (cents: number) => price.format(cents / 100);
  const rows = [
    ...(by === 'day' ? report.rows : report.rows.toSorted((a, b) => b.marginCents - a.marginCents)),
    { ...totals, name: 'Total' },
  ].map(({ name, units, revenueCents, unusedCents, tokens, costCents, savedCents, marginCents }) => [
    name,
    units,
    money(revenueCents),
    money(unusedCents),
    tokens,
    money(costCents),
    money(savedCents),
    money(marginCents),
  ]);
  const columns = [
    MARGIN_GROUPS[by],
    'Units',
    'Revenue',
    'From unused units',
    'Tokens',
    'Cost',
    'Saved',
    'Margin',
  ];
  return {
    data: report,
    text: [
      `${from} to ${to} (UTC).${tokenPrice === null ? ' UPSTREAM_TOKEN_PRICE is not set: tokens have no cost.' : ''}`,
      table(columns, rows),
      `Paid: ${money(totals.paidCents)}. Refunded: ${money(totals.refundedCents)}. Deferred: ${money(totals.deferredCents)}.`,
    ].join('\n\n'),
  };
}
