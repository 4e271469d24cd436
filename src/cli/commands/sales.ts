import { z } from 'zod';
import { findPlan, listPlans } from '../../billing/grants.ts';
import { listReductions, reductionText, type UsedReduction } from '../../billing/payments/reductions.ts';
import { ensureStandardPlans } from '../../billing/standard-plans.ts';
import { windowText } from '../../billing/wallets.ts';
import { grantActs, packFields, saleActs, subscriptionFields } from '../../operator/acts/sale-acts.ts';
import { reductionFields } from '../../operator/fields.ts';
import type { Database } from '../../platform/db/pool.ts';
import {
  accountId,
  type Context,
  command,
  group,
  knownAccount,
  OF_ACCOUNT,
  OperatorError,
  reportOf,
  table,
} from '../terminal.ts';

const listOfPlans = command({
  name: 'list',
  description: 'lists all plans with their limits and prices',
  async run({ database, config }) {
    await ensureStandardPlans(database);
    const plans = await listPlans(database);
    const currency = config.PAYMENT_CURRENCY.toUpperCase();
    const price = new Intl.NumberFormat('en', { style: 'currency', currency });
    const drawn = table(
      [
        ['Code', ({ code }) => code],
        ['Name', ({ name }) => name],
        ['Calls per minute', ({ minuteLimit }) => minuteLimit],
        ['Units per day', ({ dailyLimit }) => dailyLimit],
        ['Units per month', ({ monthlyLimit }) => monthlyLimit],
        [
          'Price per month',
          ({ priceCents }) => (priceCents === null ? 'not for sale' : price.format(priceCents / 100)),
        ],
        ['Renews', ({ renews }) => (renews ? 'each month' : null)],
      ],
      plans,
    );
    return { data: plans, text: `${drawn}\n- means unlimited, and a plan that does not renew.` };
  },
});

export const planCommands = group('plan', 'manages plans', [listOfPlans]);

type Kind = 'coupon' | 'discount';

/** What creates a coupon or a discount. */
const OF_REDUCTION = {
  required: { '--until <T>': 'end, such as 2027-01-31 or 2027-01-31T12:00:00Z' },
  options: {
    '--percent <N>': 'percentage off the price, from 1 to 100',
    '--amount <A>': 'amount off the price in PAYMENT_CURRENCY, such as 5 or 5.50',
    '--offer <O>': ['such as plan:basic or pack:units-10k', 'all'],
  },
} as const;

const create = (kind: Kind, parts: Pick<Parameters<typeof command>[0], 'required' | 'options'>) =>
  command({
    name: 'create',
    description: `creates a ${kind}`,
    ...parts,
    input: ({ config, now }) => reductionFields(kind, { currency: config.PAYMENT_CURRENCY, now }),
    async run(context, reduction) {
      const made = await saleActs.createReduction(context, reduction);
      if ('fault' in made) throw new OperatorError(`--${made.field} ${made.fault}.`);
      return showReductions(made);
    },
  });

const list = (kind: Kind) =>
  command({
    name: 'list',
    description: `lists ${kind}s with their uses, those that run first`,
    run: async (context) => showReductions(await ofKind(context, kind)),
  });

const end = (kind: Kind, id: string) =>
  command({
    name: 'end',
    description: `ends a ${kind} now; purchases that have it keep it`,
    arguments: { '<ID>': id },
    input: z.object({ id: z.string().max(30) }),
    async run(context, { id: named }) {
      const all = await ofKind(context, kind);
      const found =
        all.find(({ code }) => code === named.toUpperCase()) ?? all.find((one) => String(one.id) === named);
      const ended = found && (await saleActs.endReduction(context, found.id));
      if (ended) return showReductions(ended);
      throw new OperatorError(
        `The ${kind} ${named} does not exist or has ended. \`${kind} list\` shows them.`,
      );
    },
  });

async function ofKind({ database, now }: Context, kind: Kind): Promise<UsedReduction[]> {
  return (await listReductions(database, now)).filter(({ code }) => (code !== null) === (kind === 'coupon'));
}

const showReductions = reportOf<UsedReduction>([
  ['ID', ({ id }) => String(id)],
  ['Code', ({ code }) => code],
  ['Reduction', (one) => reductionText(one)],
  ['For', ({ offerKind, offerCode }) => (offerKind === null ? 'all' : `${offerKind}:${offerCode}`)],
  ['Account', ({ accountId: of }) => of?.toString()],
  ['Until', ({ endsAt }) => endsAt],
  ['Uses', ({ uses }) => uses],
  ['Most uses', ({ maxUses }) => maxUses],
  ['Once', ({ oncePerAccount }) => (oncePerAccount ? 'once for each account' : null)],
]);

export const couponCommands = group('coupon', 'manages coupons, whose code customers enter', [
  create('coupon', {
    required: { ...OF_REDUCTION.required, '--code <C>': 'code that customers enter, such as SPRING20' },
    options: {
      ...OF_REDUCTION.options,
      '--uses <N>': 'number of purchases that may use it (default: any number)',
      '--once': 'once for each account; accounts of one owner count as one',
    },
  }),
  list('coupon'),
  end('coupon', 'number or code of the coupon'),
]);

export const discountCommands = group('discount', 'manages discounts, which apply without a code', [
  create('discount', {
    required: OF_REDUCTION.required,
    options: {
      ...OF_REDUCTION.options,
      '--account <ID>': 'number of the account that has it (default: all accounts)',
    },
  }),
  list('discount'),
  end('discount', 'number of the discount'),
]);

const WALLET = ['general, or off_peak: for the off-peak window only', 'general'] as const;

const subscription = command({
  name: 'subscription',
  description: 'grants a plan for a number of months',
  required: { ...OF_ACCOUNT, '--plan <P>': 'code of the plan' },
  options: {
    '--wallet <W>': WALLET,
    '--quantity <N>': ['multiplies the limits of the plan', '1'],
    '--months <N>': ['duration in months', '1'],
    '--starts <T>': 'start, such as the end of the current subscription (default: now)',
  },
  input: subscriptionFields.extend({ account: accountId }),
  async run(context, { account, ...input }) {
    await knownAccount(context.database, account);
    const plan = await knownPlan(context.database, input.plan);
    const { planId: _, ...grant } = await grantActs.plan(context, { accountId: account, plan }, input);
    return showSubscription({ ...grant, plan: plan.code });
  },
});

const showSubscription = reportOf<
  Omit<Awaited<ReturnType<typeof grantActs.plan>>, 'planId'> & { plan: string }
>([
  ['Subscription', ({ id }) => String(id)],
  ['Account', ({ accountId: of }) => String(of)],
  ['Plan', ({ plan }) => plan],
  ['Quantity', ({ quantity }) => quantity],
  ['Wallet', ({ wallet }) => wallet],
  ['From', ({ startsAt }) => startsAt],
  ['Until', ({ endsAt }) => endsAt],
]);

const pack = command({
  name: 'pack',
  description: 'grants a pack of units',
  required: { ...OF_ACCOUNT, '--units <N>': 'number of units' },
  options: {
    '--wallet <W>': WALLET,
    '--rate <N>': ['calls per minute', '60'],
    '--valid-days <N>': ['validity in days', '365'],
    '--window <W>': 'own window of an off-peak pack, such as "22:00-06:00 Europe/Berlin"',
  },
  input: z.intersection(packFields, z.object({ account: accountId })),
  async run(context, { account, ...input }) {
    await knownAccount(context.database, account);
    return showPack(await grantActs.pack(context, account, input));
  },
});

const showPack = reportOf<Awaited<ReturnType<typeof grantActs.pack>>>([
  ['Pack', ({ id }) => String(id)],
  ['Account', ({ accountId: of }) => String(of)],
  ['Units', ({ units }) => units],
  ['Wallet', ({ wallet }) => wallet],
  ['Window', ({ window }) => window && windowText(window)],
  ['Calls per minute', ({ rateLimitPerMinute }) => rateLimitPerMinute],
  ['Until', ({ validUntil }) => validUntil],
]);

async function knownPlan(database: Database, code: string) {
  await ensureStandardPlans(database);
  const plan = await findPlan(database, code);
  if (plan) return plan;
  const codes = (await listPlans(database)).map((known) => known.code);
  throw new OperatorError(`The plan ${JSON.stringify(code)} does not exist. Use one of ${codes.join(', ')}.`);
}

export const grantCommands = group('grant', 'grants units to an account', [subscription, pack]);
