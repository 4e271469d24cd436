import type { FailedPayment } from '../../../billing/payments/stripe/stripe-context.ts';
import { ADMINS, type Block, kind, numberText, PAYERS, timeText, UNIT_WATCHERS, WORKERS } from './content.ts';

const PLANS = { link: 'Plans and packs', path: '/account/plans' };

/** `source` and `period` identify the grant: a notice is sent once for each of them. */
interface UnitsFacts {
  source: string;
  period: string;
  /** Such as "your packs" or "this month of your plan Basic". */
  of: string;
  remaining: number;
  total: number;
}

interface ScheduleFacts {
  scheduleId: string;
  name: string;
  isTracker: boolean;
  /** Distinguishes a series of failed runs, or a run that waits, from others. */
  since: string;
}

const scheduleLink = ({ scheduleId, isTracker }: ScheduleFacts): Block =>
  isTracker
    ? { link: 'The tracker', path: `/account/trackers/${scheduleId}` }
    : { link: 'The schedule', path: `/account/schedules/${scheduleId}` };

/** The end of a run of a schedule that mails its results. */
export interface ResultFacts {
  batchId: string;
  /** The account of the schedule. */
  accountId: number;
  operation: string;
  format: 'csv' | 'ndjson';
  fileName: string;
  /** The address of the page of the run, which names the account: a test account has no members of its own. */
  page: string;
  name: string;
  /** Numbers of items. `changes`: null unless the schedule delivers only changes. */
  counts: {
    done: number;
    failed: number;
    cancelled: number;
    changes: { changed: number; unchanged: number } | null;
  };
  /** When the run ended; Unix milliseconds. A run whose failed items are retried ends again. */
  finishedAt: number;
  /** When the results are deleted; ISO. */
  until: string;
}

function countRows({ done, failed, cancelled, changes }: ResultFacts['counts']): [string, string][] {
  const counts: Record<string, number> = {
    Done: done,
    Failed: failed,
    ...(cancelled > 0 && { Cancelled: cancelled }),
    ...(changes && { Changed: changes.changed, Unchanged: changes.unchanged }),
  };
  return Object.entries(counts).map(([name, count]) => [name, numberText(count)]);
}

/** Notices about the work and the units of accounts. Stored mails have these names, so a name stays. */
export const NOTICE_MAILS = {
  units_low: kind<UnitsFacts>({
    name: '20 % of the units left',
    roles: UNIT_WATCHERS,
    topic: 'units',
    causeOf: ({ source, period }) => `${source} ${period}`,
    content: ({ of, remaining, total }) => ({
      subject: '20 % of your units are left',
      blocks: [
        `${numberText(remaining)} of the ${numberText(total)} units of ${of} are left.`,
        'When no units are left, calls are refused.',
        PLANS,
      ],
    }),
  }),

  units_empty: kind<UnitsFacts>({
    name: 'No units left',
    roles: UNIT_WATCHERS,
    topic: 'units',
    causeOf: ({ source, period }) => `${source} ${period}`,
    content: ({ of, total }) => ({
      subject: 'Your units are used up',
      blocks: [
        `The ${numberText(total)} units of ${of} are used up. Calls that cost units are refused unless another grant of the account has units. Batches and schedules wait.`,
        PLANS,
      ],
    }),
  }),

  plan_ends: kind<{ subscriptionId: number; plan: string; endsAt: string; days: 7 | 1 }>({
    name: 'The plan ends',
    roles: PAYERS,
    topic: 'plan',
    causeOf: ({ subscriptionId, endsAt, days }) => `${subscriptionId} ${endsAt} ${days}`,
    content: ({ plan, endsAt, days }) => ({
      subject: `Your plan ends in ${days === 1 ? '1 day' : `${days} days`}`,
      blocks: [
        `Your plan ${plan} ends at ${timeText(endsAt)}, and no other plan follows it.`,
        'A plan that you buy now starts when the present one ends.',
        PLANS,
      ],
    }),
  }),

  payment_failed: kind<FailedPayment>({
    name: 'Payment failed',
    roles: PAYERS,
    topic: 'payment',
    causeOf: ({ reference }) => reference,
    content: ({ purchase, amount, endsAt }) => ({
      subject: 'A payment has failed',
      blocks: [
        `The payment of ${amount} for ${purchase} has failed.`,
        ...(endsAt ? [`Without a payment, the plan ends at ${timeText(endsAt)}.`] : []),
        'Check your payment method.',
        PLANS,
      ],
    }),
  }),

  key_unused: kind<{
    keyId: number;
    prefix: string;
    /** Of a connection, the name of its program. */
    client?: string | null;
    lastUsedAt: string | null;
    since: string;
  }>({
    name: 'Key unused',
    roles: ADMINS,
    topic: 'key',
    causeOf: ({ keyId, since }) => `${keyId} ${since}`,
    content: ({ prefix, client, lastUsedAt }) => {
      const named = client
        ? `The connection of the program “${client}”`
        : `The API key that begins with ${prefix}`;
      const word = client ? 'connection' : 'key';
      return {
        subject: `${client ? 'A connection' : 'An API key'} was unused for 90 days`,
        blocks: [
          lastUsedAt ? `${named} was last used at ${timeText(lastUsedAt)}.` : `${named} has not been used.`,
          `Revoke a ${word} that you no longer need.`,
          { link: 'Your keys', path: '/account/keys' },
        ],
      };
    },
  }),

  schedule_failing: kind<ScheduleFacts & { reason: string }>({
    name: 'Schedule failing',
    roles: WORKERS,
    topic: 'schedule',
    causeOf: ({ scheduleId, since }) => `${scheduleId} ${since}`,
    content: (facts) => ({
      subject: `Three runs have failed: ${facts.name}`,
      blocks: [
        `The last three runs of "${facts.name}" have failed or were left out.`,
        { rows: [['Reason', facts.reason]] },
        scheduleLink(facts),
      ],
    }),
  }),

  schedule_waits: kind<ScheduleFacts>({
    name: 'Schedule waits for units',
    roles: WORKERS,
    topic: 'schedule',
    causeOf: ({ scheduleId, since }) => `${scheduleId} ${since}`,
    content: (facts) => ({
      subject: `A run waits for units: ${facts.name}`,
      blocks: [
        `A run of "${facts.name}" waits, because your account has too few units. It continues when there are units again, until its deadline.`,
        scheduleLink(facts),
        PLANS,
      ],
    }),
  }),

  tracker_alerts: kind<{
    trackerId: string;
    /** The address of its page, which names the account: a test account has no members of its own. */
    page: string;
    name: string;
    /** Of the first alert in the mail. */
    firstAlertId: string;
    /** At most 100. */
    alerts: readonly { title: string; text: string }[];
    /** How many further alerts the mail leaves out. */
    more: number;
  }>({
    name: 'Tracker alerts',
    roles: WORKERS,
    topic: 'tracker',
    causeOf: ({ trackerId, firstAlertId }) => `${trackerId} ${firstAlertId}`,
    content: ({ page, name, alerts, more }) => ({
      subject: `${alerts.length + more === 1 ? '1 alert' : `${alerts.length + more} alerts`}: ${name}`,
      blocks: [
        `Your tracker "${name}" has new alerts.`,
        { rows: alerts.map(({ title, text }) => [title, text] as const) },
        ...(more > 0 ? [`${numberText(more)} further alerts are on the page of the tracker.`] : []),
        { link: 'The tracker', path: page },
      ],
    }),
  }),

  schedule_results: kind<ResultFacts>({
    name: 'Results of a schedule',
    roles: WORKERS,
    topic: 'results',
    token: 'result',
    causeOf: ({ batchId, finishedAt }) => `${batchId} ${finishedAt}`,
    content: ({ page, name, counts, until }, linkPath) => ({
      subject: `Results: ${name}`,
      blocks: [
        `A run of "${name}" has ended.`,
        { rows: countRows(counts) },
        ...(linkPath === ''
          ? [
              'This mail has no link to the results, because the account has the most links that are allowed, or the API key of the run has ended. Open the run to download them.',
            ]
          : [
              { link: 'The results', path: linkPath },
              `Anyone who has this link can read the results until ${timeText(until)}.`,
            ]),
        { link: 'The run', path: page },
      ],
    }),
  }),
} as const;
