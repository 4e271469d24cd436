import { ACCOUNT_MAILS } from './account-mails.ts';
import { type Block, type Kind, kind, timeText } from './content.ts';
import { NOTICE_MAILS } from './notice-mails.ts';

/** Mails to the addresses of ALERT_MAIL. Stored mails have these names, so a name stays. */
const OPERATOR_MAILS = {
  operator_alert: kind<{
    alert: string;
    news: 'begun' | 'goes on' | 'over';
    title: string;
    /** When the mail was queued, and since when it holds. */
    at: string;
    since: string;
    lines: readonly { name: string; text: string }[];
    when: string;
    cause: string;
    /** Its page in the console, with the runbook. */
    page: string;
  }>({
    name: 'Alert of the operator',
    footer: 'You get this mail because ALERT_MAIL has your address. The page of the alert can silence it',
    causeOf: ({ alert, news, at }) => `${alert} ${news} ${at}`,
    content: ({ news, title, at, since, lines, when, cause, page }) => ({
      subject: title,
      blocks: [
        news === 'over'
          ? `This alert began at ${timeText(since)} and was over at ${timeText(at)}.`
          : `Since ${timeText(since)}: ${when}.`,
        { rows: lines.map(({ name, text }) => [name, text] as const) },
        ...(news === 'over' ? [] : [`Usual cause: ${cause}`]),
        { link: 'Open the alert and its runbook', path: page } satisfies Block,
      ],
    }),
  }),
} as const;

const MAIL_KINDS = { ...ACCOUNT_MAILS, ...NOTICE_MAILS, ...OPERATOR_MAILS } as const;

export type MailKind = keyof typeof MAIL_KINDS;

export type FactsOf<Name extends MailKind> = Parameters<(typeof MAIL_KINDS)[Name]['content']>[0];

/** Returns a kind by its stored name; null for one of another version. */
export function kindNamed(name: string): Kind<object> | null {
  return Object.hasOwn(MAIL_KINDS, name) ? MAIL_KINDS[name as MailKind] : null;
}
