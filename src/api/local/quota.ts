import { quotaSnapshot } from '../../billing/quota.ts';
import type { quota } from '../../operations/account/quota.ts';
import type { LocalAnswer } from './local-answer.ts';

export const answerQuota: LocalAnswer<typeof quota> = async (gateway, _input, { keyHash, accountId }) => {
  const { database, admissions, clock, offPeak } = gateway;
  const data = await quotaSnapshot({ database, admissions, offPeak }, { keyHash, accountId }, clock.now());
  return { message: 'Quota of this account', data: { ...data } };
};
