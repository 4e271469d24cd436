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
  createAccount,
  findAccount,
  lockAccount,
  setAccountState,
} from '../../accounts/accounts.ts';
import { keyPrefix, type Mode } from '../../accounts/authentication.ts';
import type { KeySettings } from '../../accounts/key-settings.ts';
import { endPages, type Role, removeMember, setMember } from '../../accounts/members.ts';
import { createPasswordReset } from '../../accounts/passwords.ts';
import {
  confirmEmail,
  findPerson,
  hasOperator,
  type InstallationRole,
  type Person,
  setInstallationRole,
} from '../../accounts/people.ts';
import { endOtherSessions } from '../../accounts/sessions.ts';
import { unlinkIdentity } from '../../accounts/single-sign-on.ts';
import { removeTwoFactor } from '../../accounts/two-factor.ts';
import { openTestAccount } from '../../billing/test-wallet.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import { addAccountNote, deleteAccountNote } from '../account-notes.ts';
import { audited, auditedAs, type Operating } from '../audit.ts';
import { cancelErasure, requestErasure, requireNotErased } from '../personal-data/erasure.ts';
import { exportAccount } from '../personal-data/export-account.ts';

/** Acts of the operator on accounts, for the console and the command. */
export const accountActs = {
  /** @returns null if the e-mail address already has an account. */
  create: (by: Operating, { email, name }: { email: string; name: string }) =>
    auditedAs(
      by,
      (client) => createAccount(client, email, name, by.now),
      ({ id }) => ({ action: 'account.created', accountId: id }),
    ),

  /**
   * Sets the state from the next request on. The pages of a disabled account end. @returns null if the account does not exist.
   * @throws ErasureRefused if its personal data is erased, because it has no owner any more.
   */
  setState(by: Operating, accountId: number, state: Exclude<AccountState, 'unavailable'>) {
    return audited<Account | null>(by, async (client) => {
      await lockAccount(client, accountId);
      await requireNotErased(client, accountId);
      const before = await findAccount(client, accountId);
      const account = await setAccountState(client, accountId, state);
      if (state !== 'active') await endPages(client, accountId);
      const action = state === 'active' ? 'account.enabled' : 'account.disabled';
      const change = { before: { state: before?.state }, after: { state } };
      return { result: account, line: account && { action, accountId, ...change } };
    });
  },

  /** Adds a note for other operators. Its text is not in the audit log, whose lines stay. @returns null if there are too many. */
  addNote: (by: Operating, accountId: number, text: string) =>
    auditedAs(
      by,
      (client) => addAccountNote(client, { accountId, author: by.operator.name, text, now: by.now }),
      (id) => ({ action: 'note.added', accountId, target: `note ${id}` }),
    ),

  /** @returns false if the account has no such note. */
  deleteNote: (by: Operating, accountId: number, id: number) =>
    auditedAs(by, (client) => deleteAccountNote(client, accountId, id), {
      action: 'note.deleted',
      accountId,
      target: `note ${id}`,
    }),

  /** Confirms the address of the owner. @returns null if the account does not exist or has no owner. */
  confirmEmail: (by: Operating, accountId: number) =>
    auditedAs(
      by,
      async (client) => {
        const account = await findAccount(client, accountId);
        if (!account?.ownerId) return null;
        await confirmEmail(client, account.ownerId, by.now);
        return findAccount(client, accountId);
      },
      { action: 'account.email-confirmed', accountId },
    ),

  /** Turns two-factor sign-in of the owner off, who has neither the app nor recovery codes. @returns false if it was not on. */
  async removeTwoFactor(by: Operating, accountId: number): Promise<boolean> {
    const account = await findAccount(by.database, accountId);
    return account?.ownerId ? personActs.removeTwoFactor(by, account.ownerId, accountId) : false;
  },

  /** Creates a link that sets the password of the owner. @returns its token; null if the account has no owner. */
  createReset: (by: Operating, accountId: number) =>
    auditedAs(
      by,
      async (client) => {
        const account = await findAccount(client, accountId);
        return account?.ownerId ? createPasswordReset(client, account.ownerId, by.now) : null;
      },
      { action: 'password-reset.created', accountId },
    ),
};

/** The limits of a key without its name and networks, which may be personal data. */
function limitsOf({ scopes, capDay, capMonth, expiresAt }: KeySettings) {
  return { scopes, capDay, capMonth, expiresAt };
}

/** Acts of the operator on the keys of an account. */
export const keyActs = {
  /** @param mode of the key. A test key belongs to the test account of the account. @returns the key, which is not stored. */
  create: (by: Operating, accountId: number, settings: KeySettings, mode: Mode) =>
    auditedAs(
      by,
      async (client) => {
        const owner = mode === 'test' ? await openTestAccount(client, accountId, by.now) : accountId;
        return (await addKey(client, owner, { settings, createdBy: null, now: by.now })).key;
      },
      (key) => ({ action: 'key.created', accountId, target: keyPrefix(key) }),
    ),

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
  reset: (by: Operating, accountId: number) =>
    auditedAs(
      by,
      (client) => resetKey(client, accountId, by.now),
      ({ key, olderKeysUntil }) => ({
        action: 'key.reset',
        accountId,
        target: keyPrefix(key),
        after: { olderKeysUntil },
      }),
    ),

  /** @param which 'all', or a key's id, its prefix, or the key itself. @returns the keys that were found. */
  revoke(by: Operating, accountId: number, which: string): Promise<AccountKey[]> {
    return audited(by, async (client) => {
      const keys = await revokeKeys(client, accountId, which, by.now);
      const target = keys.map(({ prefix }) => prefix).join(', ');
      return { result: keys, line: keys.length > 0 ? { action: 'key.revoked', accountId, target } : null };
    });
  },
};

function changeRole(
  by: Operating,
  personId: number,
  { role, isClaimed }: { role: InstallationRole | null; isClaimed: boolean },
): Promise<Person | null> {
  return audited(by, async (client) => {
    const before = await findPerson(client, personId);
    const person = await setInstallationRole(client, personId, role, isClaimed);
    const isChanged = before?.installationRole !== role;
    if (person && isChanged) await endOtherSessions(client, personId, null);
    const change = { before: { role: before?.installationRole ?? null }, after: { role } };
    const line = { action: 'staff.changed' as const, target: `person ${personId}`, ...change };
    // A claim gives the same role at each sign-in.
    return { result: person, line: person && (isChanged || !isClaimed) ? line : null };
  });
}

/** Acts on people and their roles in the installation. */
export const personActs = {
  /** Sets what a person may do in the console; null: nothing. The person signs in again. @returns null if the person does not exist. */
  setRole(by: Operating, personId: number, role: InstallationRole | null): Promise<Person | null> {
    return changeRole(by, personId, { role, isClaimed: false });
  },

  /** Sets the role that a claim of the OpenID Connect provider gives. A change ends the person's sessions; no change leaves no line. */
  claimRole(by: Operating, personId: number, role: InstallationRole | null): Promise<Person | null> {
    return changeRole(by, personId, { role, isClaimed: role !== null });
  },

  /** Makes the person with the operator token the first operator. @returns false if there is an operator. */
  claim(by: Operating, personId: number): Promise<boolean> {
    const change = { before: { role: null }, after: { role: 'operator' } };
    const line = { action: 'staff.changed', target: `person ${personId}`, ...change } as const;
    return auditedAs(
      by,
      async (client) => {
        await client.query("select pg_advisory_xact_lock(hashtext('first operator'))");
        if (await hasOperator(client)) return false;
        await setInstallationRole(client, personId, 'operator');
        return true;
      },
      line,
    );
  },

  /** Turns two-factor sign-in off, for a person who has neither the app nor recovery codes, and informs the person. @returns false if it was not on. */
  removeTwoFactor(by: Operating, personId: number, accountId?: number): Promise<boolean> {
    return audited(by, async (client) => {
      const wasOn = await removeTwoFactor(client, personId);
      const facts = { at: new Date(by.now).toISOString(), isOn: false };
      if (wasOn) await queueMail(client, { personId, kind: 'two_factor_changed', facts }, by.now);
      const line = { action: 'account.two-factor-removed' as const, target: `person ${personId}` };
      return { result: wasOn, line: accountId === undefined ? line : { ...line, accountId } };
    });
  },

  /** Unlinks a person whose identity has changed at the OpenID Connect provider, and ends the sessions. @returns false if there was no link. */
  unlinkIdentity: (by: Operating, personId: number): Promise<boolean> =>
    auditedAs(
      by,
      async (client) => {
        const wasLinked = await unlinkIdentity(client, personId);
        if (wasLinked) await endOtherSessions(client, personId, null);
        return wasLinked;
      },
      { action: 'identity.unlinked', target: `person ${personId}` },
    ),
};

/** Acts of the operator on the members of an account. */
export const memberActs = {
  /** Makes a person a member, or changes the role. @throws LastOwner. */
  set(by: Operating, member: { accountId: number; personId: number; role: Role }): Promise<void> {
    const { accountId, personId, role } = member;
    const line = {
      action: 'member.changed',
      accountId,
      target: `person ${personId}`,
      after: { role },
    } as const;
    return auditedAs(by, (client) => setMember(client, member, by.now), line);
  },

  /** @returns false if the person is no member. @throws LastOwner. */
  remove(by: Operating, member: { accountId: number; personId: number }): Promise<boolean> {
    const { accountId, personId } = member;
    const line = { action: 'member.removed', accountId, target: `person ${personId}` } as const;
    return auditedAs(by, (client) => removeMember(client, member, by.now), line);
  },
};

/** Acts of the operator on the personal data of an account. */
export const personalDataActs = {
  /** @returns the pieces of a JSON document. */
  export: (by: Operating, accountId: number) =>
    auditedAs(by, async () => exportAccount(by.database, accountId, by.now), {
      action: 'account.exported',
      accountId,
    }),

  /** @returns when the account will be erased; null if it does not exist or is erased. @throws ErasureRefused. */
  requestErasure: (by: Operating, accountId: number) =>
    auditedAs(
      by,
      (client) => requestErasure(client, accountId, by.now),
      (eraseAt) => ({ action: 'account.erasure-requested', accountId, after: { eraseAt } }),
    ),

  /** @returns false if no erasure is planned, or it has begun. */
  cancelErasure: (by: Operating, accountId: number) =>
    auditedAs(by, (client) => cancelErasure(client, accountId), {
      action: 'account.erasure-cancelled',
      accountId,
    }),
};
