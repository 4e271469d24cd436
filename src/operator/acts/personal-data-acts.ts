import { audited, type Operating } from '../audit/audit-log.ts';
import { cancelErasure, requestErasure } from '../personal-data/erasure.ts';
import { exportAccount } from '../personal-data/export-account.ts';

/** Acts of the operator on the personal data of an account. */
export const personalDataActs = {
  /** @returns the pieces of a JSON document. */
  export(by: Operating, accountId: number): Promise<AsyncGenerator<string>> {
    return audited(by, async () => ({
      result: exportAccount(by.database, accountId, by.now),
      line: { action: 'account.exported', accountId },
    }));
  },

  /** @returns when the account will be erased; null if it does not exist or is erased. @throws ErasureRefused. */
  requestErasure(by: Operating, accountId: number): Promise<Date | null> {
    return audited(by, async (client) => {
      const eraseAt = await requestErasure(client, accountId, by.now);
      const line = eraseAt && { action: 'account.erasure-requested' as const, accountId, after: { eraseAt } };
      return { result: eraseAt, line };
    });
  },

  /** @returns false if no erasure is planned, or it has begun. */
  cancelErasure(by: Operating, accountId: number): Promise<boolean> {
    return audited(by, async (client) => {
      const isCancelled = await cancelErasure(client, accountId, by.now);
      return {
        result: isCancelled,
        line: isCancelled ? { action: 'account.erasure-cancelled', accountId } : null,
      };
    });
  },
};
