import type { Command } from 'commander';
import { z } from 'zod';
import { listReductions, reductionText, type UsedReduction } from '../../billing/payments/reductions.ts';
import { readConfig } from '../../config/config.ts';
import { saleActs } from '../../operator/acts/sale-acts.ts';
import { reductionFields } from '../../operator/fields.ts';
import {
  type Context,
  type Given,
  OperatorError,
  onDatabase,
  type Report,
  readInput,
  table,
} from '../terminal.ts';

type Kind = 'coupon' | 'discount';

export function registerCoupon(program: Command): void {
  const coupon = program.command('coupon').description('manages coupons, whose code customers enter');
  creation(coupon, 'coupon', 'creates a coupon')
    .requiredOption('--code <C>', 'code that customers enter, such as SPRING20')
    .option('--uses <N>', 'number of purchases that may use it (default: any number)')
    .option('--once', 'once for each account; accounts of one owner count as one');
  const discount = program.command('discount').description('manages discounts, which apply without a code');
  creation(discount, 'discount', 'creates a discount').option(
    '--account <ID>',
    'number of the account that has it (default: all accounts)',
  );
  for (const [command, kind] of [
    [coupon, 'coupon'],
    [discount, 'discount'],
  ] as const) {
    onDatabase(
      command.command('list').description(`lists ${kind}s with their uses, those that run first`),
      (context) => list(context, kind),
    );
    onDatabase(
      command
        .command('end')
        .description(`ends a ${kind} now; purchases that have it keep it`)
        .argument('<ID>', kind === 'coupon' ? 'number or code of the coupon' : 'number of the discount'),
      (context, given) => end(context, kind, given),
    );
  }
}

function creation(command: Command, kind: Kind, description: string): Command {
  const create = command
    .command('create')
    .description(description)
    .requiredOption('--until <T>', 'end, such as 2027-01-31 or 2027-01-31T12:00:00Z')
    .option('--percent <N>', 'percentage off the price, from 1 to 100')
    .option('--amount <A>', 'amount off the price in PAYMENT_CURRENCY, such as 5 or 5.50')
    .option('--offer <O>', 'such as plan:basic or pack:units-10k', 'all');
  onDatabase(create, (context, given) => add(context, kind, given));
  return create;
}

async function add(context: Context, kind: Kind, given: Given): Promise<Report> {
  const currency = readConfig(context.env).PAYMENT_CURRENCY;
  const made = await saleActs.createReduction(
    context,
    readInput(reductionFields(kind, { currency, now: context.now }), given),
  );
  if ('fault' in made) throw new OperatorError(`--${made.field} ${made.fault}.`);
  return { data: made, text: reductionTable([made]) };
}

async function list({ database, now }: Context, kind: Kind): Promise<Report> {
  const found = await ofKind({ database, now }, kind);
  return { data: found, text: reductionTable(found) };
}

async function ofKind(
  { database, now }: Pick<Context, 'database' | 'now'>,
  kind: Kind,
): Promise<UsedReduction[]> {
  return (await listReductions(database, now)).filter(({ code }) => (code !== null) === (kind === 'coupon'));
}

const endInput = z.object({ id: z.string().max(30) });

async function end(context: Context, kind: Kind, given: Given): Promise<Report> {
  const { id } = readInput(endInput, given);
  const all = await ofKind(context, kind);
  const found = all.find(({ code }) => code === id.toUpperCase()) ?? all.find((one) => String(one.id) === id);
  const ended = found && (await saleActs.endReduction(context, found.id));
  if (!ended)
    throw new OperatorError(`The ${kind} ${id} does not exist or has ended. \`${kind} list\` shows them.`);
  return { data: ended, text: reductionTable([ended]) };
}

function reductionTable(reductions: readonly UsedReduction[]): string {
  return table(
    ['ID', 'Code', 'Reduction', 'For', 'Account', 'Until', 'Uses', 'Most uses', 'Once'],
    reductions.map((one) => [
      String(one.id),
      one.code,
      reductionText(one),
      one.offerKind === null ? 'all' : `${one.offerKind}:${one.offerCode}`,
      one.accountId === null ? null : String(one.accountId),
      one.endsAt,
      one.uses,
      one.maxUses,
      one.oncePerAccount ? 'once for each account' : null,
    ]),
  );
}
