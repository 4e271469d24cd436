import { type AccountKey, resetKey, revokeKeys } from '../../accounts/account-keys.ts';
import { createKey, keyPrefix } from '../../accounts/keys.ts';
import type { Mode } from '../../accounts/test-accounts.ts';
import { createTestKeyIn } from '../../billing/test-wallet.ts';
import { audited, type Operating } from '../audit/audit-log.ts';

/** Acts of the operator on the keys of an account. */
export const keyActs = {
  /** @param mode of the key. A test key belongs to the test account of the account. @returns the key, which is not stored. */
  create(by: Operating, accountId: number, mode: Mode = 'live'): Promise<string> {
    return audited(by, async (client) => {
      const createIn = mode === 'test' ? createTestKeyIn : createKey;
      const key = await createIn(client, accountId, by.now);
      return { result: key, line: { action: 'key.created', accountId, target: keyPrefix(key) } };
    });
  },

  /** Creates a key, and lets the others expire soon. */
  reset(by: Operating, accountId: number): Promise<{ key: string; olderKeysUntil: Date }> {
    return audited(by, async (client) => {
      const reset = await resetKey(client, accountId, by.now);
      const { key, olderKeysUntil } = reset;
      const after = { olderKeysUntil };
      return { result: reset, line: { action: 'key.reset', accountId, target: keyPrefix(key), after } };
    });
  },

  /** @param which 'all', or a key's id, its prefix, or the key itself. @returns the keys that were found. */
  revoke(by: Operating, accountId: number, which: string): Promise<AccountKey[]> {
    return audited(by, async (client) => {
      const keys = await revokeKeys(client, accountId, which, by.now);
      const target = keys.map(({ prefix }) => prefix).join(', ');
      return { result: keys, line: keys.length > 0 ? { action: 'key.revoked', accountId, target } : null };
    });
  },
};
