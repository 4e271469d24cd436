import type { Queryable } from '../../platform/db/pool.ts';
import type { Offer } from './offers.ts';

/** Which accounts may take a free offer without the operator: all, those with a confirmed e-mail address, or none. */
export const TRIAL_RULES = ['open', 'confirmed', 'manual'] as const;

export type TrialRule = (typeof TRIAL_RULES)[number];

/** `confirmed by mail`: as `confirmed`, and customers confirm their addresses by the link in a mail. */
export type TrialPolicy = TrialRule | 'confirmed by mail';

/** Returns the policy of an installation. Where mails are sent, a trial always requires a confirmed address. */
export function trialPolicyOf(rule: TrialRule, sendsMails: boolean): TrialPolicy {
  return sendsMails && rule !== 'manual' ? 'confirmed by mail' : rule;
}

/** The free offers that an account has taken, by kind and code. */
type TakenOffers = ReadonlySet<string>;

/** The accounts of the owners of account $1, with that account. */
export const ACCOUNTS_OF_OWNERS = `
  select $1::bigint as id
  union
  select theirs.account_id from members own join members theirs on theirs.person_id = own.person_id
  where own.account_id = $1 and own.role = 'owner' and theirs.role = 'owner'`;

/** Returns the free offers that an account, or another one of its owners, has taken. Each can be taken once. */
export async function takenOffers(database: Queryable, accountId: number): Promise<TakenOffers> {
  const { rows } = await database.query<{ offer: string }>(
    `select distinct kind || ' ' || offer_code as offer from orders
     where account_id in (${ACCOUNTS_OF_OWNERS}) and amount_cents = 0 and state <> 'cancelled'`,
    [accountId],
  );
  return new Set(rows.map(({ offer }) => offer));
}

export function isTaken(taken: TakenOffers, { kind, code, priceCents }: Offer): boolean {
  return priceCents === 0 && taken.has(`${kind} ${code}`);
}

/** Why an account may not take a free offer, as a text for its customer; null if it may. */
export async function trialRefusal(
  database: Queryable,
  rule: TrialPolicy,
  accountId: number,
): Promise<string | null> {
  if (rule === 'open') return null;
  if (rule === 'manual') return 'The operator of this service grants trials. Contact the operator.';
  const { rows } = await database.query<{ confirmed: boolean }>(
    'select email_confirmed_at is not null as confirmed from account_owners where account_id = $1',
    [accountId],
  );
  if (rows[0]?.confirmed) return null;
  return `A trial requires a confirmed e-mail address. ${rule === 'confirmed' ? 'Ask the operator of this service to confirm yours.' : 'Open the link in the mail that you have received.'}`;
}
