import type { Role } from '../../../accounts/members.ts';

/** The text of a mail, from which its plain text and its HTML are rendered. */
export interface Content {
  subject: string;
  blocks: readonly Block[];
}

/** A paragraph; a link to a page of this service, as a path; or a list of names with values. */
export type Block =
  | string
  | { link: string; path: string }
  | { rows: readonly (readonly [name: string, value: string])[] };

/** What customers can switch off, with its name on the settings page. */
export const TOPICS = {
  units: 'Units: when 20 % are left, and when none are left',
  plan: 'Plan: it ends in 7 days, and in 1 day',
  payment: 'Payments: a payment has failed',
  key: 'Keys: a key was unused for 90 days',
  schedule: 'Schedules and trackers: three runs have failed, or a run waits for units',
  tracker: 'Trackers: alerts, for trackers that send e-mail',
  results: 'Schedules: results, for schedules that mail them',
} as const;

export type Topic = keyof typeof TOPICS;

/** The members whom a kind of mail concerns. */
export const OWNERS: readonly Role[] = ['owner'];
export const ADMINS: readonly Role[] = ['owner', 'admin'];
export const PAYERS: readonly Role[] = ['owner', 'billing'];
export const WORKERS: readonly Role[] = ['owner', 'admin', 'developer'];
export const UNIT_WATCHERS: readonly Role[] = ['owner', 'admin', 'billing'];

/** What the token of a mail's link does. */
export type TokenUse = 'reset' | 'confirm' | 'invitation' | 'result';

/** A kind of mail. `Facts` are stored as JSON until the mail is deleted. */
export interface Kind<Facts> {
  /** Its name in the operator console. */
  name: string;
  /** The members of the account who get it; absent: it is about a person, or for an address. */
  roles?: readonly Role[];
  /** The switch that turns it off; absent: it cannot be switched off. */
  topic?: Topic;
  /**
   * The token that its link carries. It is made when the mail is sent, and passed to `content` as a path.
   * `reset`: sets a new password. `confirm`: confirms the recipient's address. `invitation`: makes the recipient a member.
   * `result`: opens the results of a run.
   */
  token?: TokenUse;
  /** The last line; absent: a link that switches its topic off, or that mails about security are always sent. */
  footer?: string;
  /** Its row is deleted after the last attempt, because its recipient must not be stored any longer. */
  isForgotten?: true;
  /** Distinguishes the causes of one account or person: equal facts of one cause make one mail. */
  causeOf(facts: Facts): string;
  content(facts: Facts, tokenPath: string): Content;
}

/** Declares a kind with the type of its facts. */
export function kind<Facts extends object>(declaration: Kind<Facts>): Kind<Facts> {
  return declaration;
}

/** A time as mails show it: 4 March 2026, 10:00 UTC. */
export function timeText(at: string): string {
  return `${TIME.format(new Date(at))} UTC`;
}

const TIME = new Intl.DateTimeFormat('en-GB', {
  dateStyle: 'long',
  timeStyle: 'short',
  timeZone: 'UTC',
});

/** 12345 -> 12,345. */
export function numberText(value: number): string {
  return new Intl.NumberFormat('en').format(value);
}
