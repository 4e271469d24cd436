import { quotaSnapshot } from '../../../billing/quota.ts';
import type { quota } from '../../../operations/account/quota.ts';
import type { LocalAnswer } from './local-answer.ts';

export const answerQuota: LocalAnswer<typeof quota> = async (deps, _input, account) => {
  const data = await quotaSnapshot(deps, account, deps.clock.now());
  return { message: 'Quota of this account', data: { ...data } };
};
