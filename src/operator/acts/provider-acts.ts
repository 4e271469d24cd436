import { z } from 'zod';
import type { SecretBox } from '../../platform/secret-box.ts';
import {
  ACCOUNT_NAME,
  ACCOUNT_STATES,
  type AccountState,
  PROVIDER_KEY,
  type ProviderAccount,
} from '../../upstream/provider-accounts.ts';
import { addAccount, removeAccount, setAccountState } from '../../upstream/stored-accounts.ts';
import { audited, auditedAs, type Operating } from '../audit.ts';

export const accountNameField = z
  .string({ error: 'is required' })
  .trim()
  .regex(ACCOUNT_NAME, 'must be at most 30 lower-case letters, digits and hyphens');

/** The fields of a new account at the provider. Messages never show the key. */
export const newAccountFields = z.object({
  name: accountNameField,
  key: z
    .string({ error: 'is required' })
    .trim()
    .regex(PROVIDER_KEY, 'must be a key of letters, digits or signs, without spaces and colons'),
});

export const accountStateField = z.enum(ACCOUNT_STATES, `must be ${ACCOUNT_STATES.join(', ')}`);

interface Named {
  provider: string;
  name: string;
}

/** Acts of the operator on the accounts at the provider of product data. */
export const providerActs = {
  /** @returns false if an account has this name or this key. */
  add(by: Operating, box: SecretBox, account: ProviderAccount & { provider: string }): Promise<boolean> {
    const { provider, name: target } = account;
    const line = { action: 'provider-account.added', target, after: { provider } } as const;
    return auditedAs(by, (client) => addAccount(client, box, { ...account, now: by.now }), line);
  },

  /** @returns false if there is no such account. */
  setState(by: Operating, account: Named & { state: AccountState }): Promise<boolean> {
    return audited(by, async (client) => {
      const { name: target, state } = account;
      const before = await setAccountState(client, account);
      const states = { before: { state: before }, after: { state } };
      const line = { action: 'provider-account.changed', target, ...states } as const;
      return { result: before !== null, line: before === null || before === state ? null : line };
    });
  },

  /** Removes an account that the console has added. @returns false if there is none, or it is active. */
  remove(by: Operating, account: Named): Promise<boolean> {
    const { provider, name: target } = account;
    const line = { action: 'provider-account.removed', target, before: { provider } } as const;
    return auditedAs(by, (client) => removeAccount(client, account), line);
  },
};
