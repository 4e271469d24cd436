import { type Block, kind, timeText } from './content.ts';

/** Mails to the addresses of ALERT_MAIL. Stored mails have these names, so a name stays. */
export const OPERATOR_MAILS = {
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
