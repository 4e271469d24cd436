import { z } from 'zod';
import { ACCOUNT_NAME, PROVIDER_KEY, type ProviderAccount } from '../upstream/provider-accounts.ts';

/** The setting KEEPA_API_KEY: keys separated by commas, each with a name before a colon if wanted. Errors never show a key. */
export const providerAccounts = z.string().transform((text, context): ProviderAccount[] => {
  const fault = (message: string) => context.addIssue({ code: 'custom', message });
  const accounts = text.split(',').map((entry, i) => {
    const [first = '', ...rest] = entry.split(':').map((part) => part.trim());
    return rest.length === 0
      ? { name: i === 0 ? 'main' : `account-${i + 1}`, key: first }
      : { name: first, key: rest.join(':') };
  });
  for (const [i, { name, key }] of accounts.entries()) {
    const which = accounts.length === 1 ? 'must be' : `entry ${i + 1} must be`;
    if (!PROVIDER_KEY.test(key))
      fault(`${which} KEY or NAME:KEY with a key of letters, digits or signs, without spaces and colons`);
    else if (!ACCOUNT_NAME.test(name))
      fault(`${which} KEY or NAME:KEY with a name of at most 30 lower-case letters, digits and hyphens`);
  }
  const names = accounts.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined && ACCOUNT_NAME.test(twice)) fault(`names two accounts ${twice}`);
  if (new Set(accounts.map(({ key }) => key)).size < accounts.length) fault('has the same key twice');
  return accounts;
});
