import {
  type Account,
  type AccountState,
  confirmEmail,
  createAccount,
  findAccount,
  lockAccount,
  setAccountState,
} from '../../accounts/accounts.ts';
import { createPasswordReset } from '../../accounts/password-resets.ts';
import { beginSession, endOtherSessions } from '../../accounts/sessions.ts';
import { removeTwoFactor } from '../../accounts/two-factor.ts';
import { audited, type Operating } from '../audit/audit-log.ts';
import { requireNotErased } from '../personal-data/erasure.ts';

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
