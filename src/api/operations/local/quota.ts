import { findKey } from '../../../accounts/account-keys.ts';
import { unitsByKey } from '../../../billing/key-warning.ts';
import { quotaSnapshot } from '../../../billing/quota.ts';
import type { quota } from '../../../operations/account/quota.ts';
import type { Account } from '../../plugins/authentication.ts';
import type { LocalAnswer, LocalDeps } from './local-answer.ts';

export const answerQuota: LocalAnswer<typeof quota> = async (deps, _input, account) => ({
  message: 'Quota of this account',
  data: await deps.quotaSnapshots.read(account, () => readQuota(deps, account)),
});

async function readQuota(deps: LocalDeps, account: Account) {
  const [snapshot, key] = await Promise.all([
    quotaSnapshot(deps, account, deps.clock.now()),
    keyQuota(deps, account),
  ]);
  return { ...snapshot, key };
}

/** Returns the limits of the key of the request, and what it has used of them; null for a key of the pages. */
async function keyQuota({ database, clock }: LocalDeps, { accountId, keyId }: Account) {
  if (keyId === null) return null;
  const key = await findKey(database, accountId, keyId, clock.now());
  const { id, prefix, name, scopes, capDay, capMonth, expiresAt } = key;
  const used = (await unitsByKey(database, accountId, clock.now())).get(id) ?? { day: 0, month: 0 };
  return { id, prefix, name, scopes, capDay, capMonth, used, expiresAt: expiresAt?.toISOString() ?? null };
}
