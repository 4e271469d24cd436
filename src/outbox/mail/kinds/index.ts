import { ACCOUNT_MAILS } from './account-mails.ts';
import type { Kind } from './content.ts';
import { NOTICE_MAILS } from './notice-mails.ts';
import { OPERATOR_MAILS } from './operator-mails.ts';

const MAIL_KINDS = { ...ACCOUNT_MAILS, ...NOTICE_MAILS, ...OPERATOR_MAILS } as const;

export type MailKind = keyof typeof MAIL_KINDS;

export type FactsOf<Name extends MailKind> = Parameters<(typeof MAIL_KINDS)[Name]['content']>[0];

/** Returns a kind by its stored name; null for one of another version. */
export function kindNamed(name: string): Kind<object> | null {
  return Object.hasOwn(MAIL_KINDS, name) ? MAIL_KINDS[name as MailKind] : null;
}
