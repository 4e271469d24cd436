import {
  type AccountKey,
  addKey,
  changeKey,
  findKey,
  resetKey,
  revokeKeys,
} from '../../accounts/account-keys.ts';
import { type KeySettings, WITHOUT_LIMITS } from '../../accounts/key-settings.ts';
import { keyPrefix } from '../../accounts/keys.ts';
import type { Mode } from '../../accounts/test-accounts.ts';
import { openTestAccount } from '../../billing/test-wallet.ts';
import { audited, type Operating } from '../audit/audit-log.ts';

/** The limits of a key without its name and networks, which may be personal data. */
function limitsOf({ scopes, capDay, capMonth, expiresAt }: KeySettings) {
  return { scopes, capDay, capMonth, expiresAt };
}

/** Acts of the operator on the keys of an account. */
export const keyActs = {
  /** @param mode of the key. A test key belongs to the test account of the account. @returns the key, which is not stored. */
  create(
    by: Operating,
    accountId: number,
    settings: KeySettings = WITHOUT_LIMITS,
    mode: Mode = 'live',
  ): Promise<string> {
    return audited(by, async (client) => {
      const owner = mode === 'test' ? await openTestAccount(client, accountId, by.now) : accountId;
      const { key } = await addKey(client, owner, { settings, createdBy: null, now: by.now });
      return { result: key, line: { action: 'key.created', accountId, target: keyPrefix(key) } };
    });
  },

  /** @param change returns the new settings. */
  update(
    by: Operating,
    accountId: number,
    keyId: number,
    change: (present: KeySettings) => KeySettings,
  ): Promise<AccountKey> {
    return audited(by, async (client) => {
      const before = limitsOf(await findKey(client, accountId, keyId, by.now));
      const result = await changeKey(client, accountId, keyId, by.now, change);
      const line = { action: 'key.changed', accountId, target: result.prefix } as const;
      return { result, line: { ...line, before, after: limitsOf(result) } };
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
