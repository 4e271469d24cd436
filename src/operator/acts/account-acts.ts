import {
  type AccountKey,
  addKey,
  changeKey,
  findKey,
  resetKey,
  revokeKeys,
} from '../../accounts/account-keys.ts';
import {
  type Account,
  type AccountState,
  confirmEmail,
  createAccount,
  findAccount,
  lockAccount,
  setAccountState,
} from '../../accounts/accounts.ts';
import { keyPrefix, type Mode } from '../../accounts/authentication.ts';
import { type KeySettings, WITHOUT_LIMITS } from '../../accounts/key-settings.ts';
import {
  addOperatorTwoFactor,
  lockOperatorTwoFactor,
  removeOperatorTwoFactor,
  verifyOperatorCode,
} from '../../accounts/operator-sign-in.ts';
import { createPasswordReset } from '../../accounts/passwords.ts';
import {
  beginSession,
  endOtherOperatorSessions,
  endOtherSessions,
  endSession,
} from '../../accounts/sessions.ts';
import { removeTwoFactor } from '../../accounts/two-factor.ts';
import { openTestAccount } from '../../billing/test-wallet.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { type AuditLine, audited, type Operating } from '../audit.ts';
import { cancelErasure, requestErasure, requireNotErased } from '../personal-data/erasure.ts';
import { exportAccount } from '../personal-data/export-account.ts';

/** Acts of the operator on accounts, for the console and the command. */
export const accountActs = {
  /** @returns null if the e-mail address already has an account. */
  create(by: Operating, { email, name }: { email: string; name: string }): Promise<Account | null> {
    return audited(by, async (client) => {
      const account = await createAccount(client, email, name, by.now);
      return { result: account, line: account && { action: 'account.created', accountId: account.id } };
    });
  },

  /**
   * Sets the state from the next request on. A disabled account is signed out. @returns null if the account does not exist.
   * @throws ErasureRefused if its personal data is erased, because it has no owner any more.
   */
  setState(by: Operating, accountId: number, state: Exclude<AccountState, 'unavailable'>) {
    return audited<Account | null>(by, async (client) => {
      await lockAccount(client, accountId);
      await requireNotErased(client, accountId, by.now);
      const before = await findAccount(client, accountId);
      const account = await setAccountState(client, accountId, state);
      if (state !== 'active') await endOtherSessions(client, accountId, null);
      const action = state === 'active' ? 'account.enabled' : 'account.disabled';
      const change = { before: { state: before?.state }, after: { state } };
      return { result: account, line: account && { action, accountId, ...change } };
    });
  },

  /** @returns null if the account does not exist. */
  confirmEmail(by: Operating, accountId: number): Promise<Account | null> {
    return audited(by, async (client) => {
      const account = await confirmEmail(client, accountId, by.now);
      return { result: account, line: account && { action: 'account.email-confirmed', accountId } };
    });
  },

  /** Turns two-factor sign-in off, for an owner who has neither the app nor recovery codes. @returns false if it was not on. */
  removeTwoFactor(by: Operating, accountId: number): Promise<boolean> {
    return audited(by, async (client) => {
      const wasOn = await removeTwoFactor(client, accountId);
      return { result: wasOn, line: { action: 'account.two-factor-removed', accountId } };
    });
  },

  /** Creates a password reset link. @returns its token. */
  createReset(by: Operating, accountId: number): Promise<string> {
    return audited(by, async (client) => {
      const token = await createPasswordReset(client, accountId, by.now);
      return { result: token, line: { action: 'password-reset.created', accountId } };
    });
  },

  /** Starts a session in which the operator views the pages of a customer. @returns its token. */
  view(by: Operating, accountId: number, credential: Buffer): Promise<string> {
    return audited(by, async (client) => {
      const token = await beginSession(client, { accountId, credential }, by.now);
      return { result: token, line: { action: 'account.viewed', accountId } };
    });
  },
};

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

/** Signing in to the console and out of it. */
export const sessionActs = {
  /** Signs in with the token alone. @returns the token of the session; null if two-factor sign-in is on. */
  begin(by: Operating, credential: Buffer): Promise<string | null> {
    return audited<string | null>(by, async (client) => {
      // A session that starts while the second factor is turned on either sees it here, or is ended by it.
      if (await lockOperatorTwoFactor(client)) return { result: null, line: null };
      const token = await beginSession(client, { credential }, by.now);
      return { result: token, line: { action: 'session.started' } };
    });
  },

  /** Signs in with a code after the token. @returns the token of the session; null if the code is not valid. */
  beginWithCode(
    by: Operating,
    credential: Buffer,
    { secretBox, code }: { secretBox: SecretBox; code: string },
  ): Promise<string | null> {
    return audited<string | null>(by, async (client) => {
      if (!(await verifyOperatorCode(client, secretBox, { code, now: by.now })))
        return { result: null, line: null };
      const token = await beginSession(client, { credential }, by.now);
      return { result: token, line: { action: 'session.started', after: { twoFactor: true } } };
    });
  },

  end(by: Operating, tokenHash: Buffer): Promise<void> {
    return audited(by, async (client) => ({
      result: await endSession(client, tokenHash),
      line: { action: 'session.ended' },
    }));
  },
};

const REMOVED: AuditLine = { action: 'operator.two-factor-removed' };

/** Two-factor sign-in of the operator, for the console and the command. */
export const twoFactorActs = {
  /**
   * Turns it on, and ends the operator's sessions that were started without a code.
   * @param tokenHash the session of this request, which remains.
   * @returns the recovery codes; null for an incorrect code, or if it is on.
   */
  add(
    by: Operating,
    {
      secretBox,
      tokenHash,
      ...given
    }: { secretBox: SecretBox; tokenHash: Buffer; secret: string; code: string },
  ): Promise<string[] | null> {
    return audited<string[] | null>(by, async (client) => {
      const codes = await addOperatorTwoFactor(client, secretBox, { ...given, now: by.now });
      if (codes === null) return { result: null, line: null };
      await endOtherOperatorSessions(client, tokenHash);
      return { result: codes, line: { action: 'operator.two-factor-added' } };
    });
  },

  /** Turns it off with a code. @returns false if the code is not valid. */
  remove(by: Operating, { secretBox, code }: { secretBox: SecretBox; code: string }): Promise<boolean> {
    return audited<boolean>(by, async (client) => {
      if (!(await verifyOperatorCode(client, secretBox, { code, now: by.now })))
        return { result: false, line: null };
      return { result: await removeOperatorTwoFactor(client), line: REMOVED };
    });
  },

  /** Turns it off without a code, for an operator who has neither the app nor recovery codes. @returns false if it was not on. */
  reset(by: Operating): Promise<boolean> {
    return audited(by, async (client) => ({ result: await removeOperatorTwoFactor(client), line: REMOVED }));
  },
};

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
