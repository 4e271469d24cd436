import type { Command } from 'commander';
import { z } from 'zod';
import { ledgerLines } from '../../billing/ledger-lines.ts';
import { type Usage, usage, type WalletBalances, walletBalances } from '../../billing/statement.ts';
import { DAY_MS } from '../../platform/durations.ts';
import {
  accountId,
  type Context,
  type Given,
  knownAccount,
  onDatabase,
  type Report,
  readInput,
  table,
  wholeNumber,
} from '../terminal.ts';

export function registerStatement(program: Command): void {
  const command = (name: string, description: string) =>
    program.command(name).description(description).requiredOption('--account <ID>', 'number of the account');
  onDatabase(
    command('usage', 'shows the units an account has used and its remaining allowance').option(
      '--days <N>',
      'number of days, including today',
      '30',
    ),
    showUsage,
  );
  onDatabase(
    command('ledger', 'lists grants, reservations, charges and releases, newest first')
      .option('--limit <N>', 'maximum number of lines', '50')
      .option('--before <L>', 'only lines before this line'),
    showLedger,
  );
}

async function showUsage({ database, now }: Context, given: Given): Promise<Report> {
  const { account, days } = readInput(z.object({ account: accountId, days: wholeNumber(1, 3_650) }), given);
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
      ...(used.calls === 0 ? [] : usageTables(used)),
      `Subscriptions:\n${subscriptionTable(subscriptions)}`,
      `Packs:\n${packTable(packs)}`,
    ].join('\n\n'),
  };
}

async function showLedger({ database }: Context, given: Given): Promise<Report> {
  const input = readInput(
    z.object({
      account: accountId,
      limit: wholeNumber(1, 10_000),
      before: wholeNumber(1, Number.MAX_SAFE_INTEGER).optional(),
    }),
    given,
  );
  await knownAccount(database, input.account);
  const { limit, before } = input;
  const page = before === undefined ? { limit } : { limit, before };
  const lines = (await ledgerLines(database, input.account, page)).map((line) => ({
    ...line,
    at: new Date(line.at),
  }));
  const rows = lines.map(({ id, at, kind, wallet, source, sourceId, operation, callId, units, change }) => [
    String(id),
    at,
    kind,
    wallet,
    `${source} ${sourceId}`,
    units,
    change,
    operation,
    callId,
  ]);
  const columns = [
    'Line',
    'Date',
    'Kind',
    'Wallet',
    'Pack or subscription',
    'Units',
    'Change',
    'Operation',
    'Call',
  ];
  return { data: lines, text: table(columns, rows) };
}

function usageTables({ byOperation, byDay }: Usage): string[] {
  return [
    table(
      ['Operation', 'Calls', 'Units'],
      byOperation.map(({ operation, calls, units }) => [operation, calls, units]),
    ),
    table(
      ['Day', 'Calls', 'Units'],
      byDay.map(({ day, calls, units }) => [day, calls, units]),
    ),
  ];
}

function subscriptionTable(subscriptions: WalletBalances['subscriptions']): string {
  return table(
    ['ID', 'Wallet', 'Plan', 'Quantity', 'Today', 'Of', 'This month', 'Of', 'Month resets at', 'Until'],
    subscriptions.map((one) => [
      String(one.id),
      one.wallet,
      one.planName,
      one.quantity,
      one.dayUsed,
      one.dailyLimit,
      one.monthUsed,
      one.monthlyLimit,
      new Date(one.monthEnd),
      new Date(one.endsAt),
    ]),
  );
}

function packTable(packs: WalletBalances['packs']): string {
  return table(
    ['ID', 'Wallet', 'Left', 'Of', 'Calls per minute', 'Valid', 'Until'],
    packs.map((one) => [
      String(one.id),
      one.wallet,
      one.remainingUnits,
      one.totalUnits,
      one.rateLimitPerMinute,
      one.valid ? 'yes' : 'no',
      new Date(one.validUntil),
    ]),
  );
}
