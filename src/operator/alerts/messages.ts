import type { ClientBase } from 'pg';
import { maskedChat } from '../../outbox/chat-message.ts';
import type { ChatTarget } from '../../outbox/chat-sender.ts';
import { queueMail } from '../../outbox/mail/mails.ts';
import { type ClaimedMessage, enqueueMessages } from '../../outbox/queue.ts';
import { iso } from '../../platform/clock.ts';
import type { AlertNews, AlertState } from './alert-state.ts';
import { ALERTS, type AlertName, alertNamed } from './alerts.ts';
import type { AlertLine } from './measures.ts';

/** Where alerts are sent. */
export interface AlertReceivers {
  /** E-mail addresses: the setting ALERT_MAIL. */
  mail: readonly string[];
  /** The address of an incoming webhook: the setting ALERT_WEBHOOK. */
  webhook: string | null;
}

export const NO_RECEIVERS: AlertReceivers = { mail: [], webhook: null };

interface Announced {
  name: AlertName;
  news: AlertNews;
  state: AlertState;
}

/** What a message about an alert is made of. */
interface AlertFacts {
  alert: AlertName;
  news: AlertNews;
  title: string;
  /** When it was notified, and since when it holds, as ISO 8601. */
  at: string;
  since: string;
  lines: readonly AlertLine[];
}

const TITLES: Readonly<Record<AlertNews, string>> = { begun: '', 'goes on': 'Still: ', over: 'Over: ' };

/** The kind of messages about alerts, on both channels. */
export const ALERT_KIND = 'operator_alert';

/** Queues the mails and the chat message about an alert. They are sent when the transaction commits. */
export async function queueMessages(
  client: ClientBase,
  { mail, webhook }: AlertReceivers,
  { name, news, state }: Announced,
  now: number,
): Promise<void> {
  const facts: AlertFacts = {
    alert: name,
    news,
    title: `${TITLES[news]}${ALERTS[name].says}`,
    at: iso(now),
    since: iso(state.since ?? now),
    lines: state.lines,
  };
  const { cause, when } = ALERTS[name];
  for (const to of mail)
    await queueMail(
      client,
      { accountId: null, kind: ALERT_KIND, to, facts: { ...facts, cause, when, page: pageOf(name) } },
      now,
    );
  if (webhook === null) return;
  const { host } = new URL(webhook);
  await enqueueMessages(
    client,
    [
      {
        channel: 'chat',
        accountId: null,
        kind: ALERT_KIND,
        recipient: maskedChat(host),
        host,
        payload: JSON.stringify(facts),
        cause: `${ALERT_KIND} chat ${name} ${news} ${facts.at}`,
      },
    ],
    now,
  );
}

/** The page of the console about an alert, which has its runbook. */
export function pageOf(name: AlertName): string {
  return `/admin/alerts/${name}`;
}

/** Returns the addresses and texts of chat messages about alerts. Without the setting, they have none. */
export function alertTargets(
  { webhook }: AlertReceivers,
  publicUrl: string | null,
  messages: readonly ClaimedMessage[],
): Map<string, ChatTarget> {
  if (webhook === null) return new Map();
  return new Map(
    messages.map(({ id, payload }) => {
      const { alert, title, news, lines } = JSON.parse(payload) as AlertFacts;
      // Another version may have queued it.
      const known = alertNamed(alert)?.alert;
      const cause = known && news !== 'over' ? [{ name: 'Usual cause', text: known.cause }] : [];
      const message = {
        title,
        lines: [...lines, ...cause],
        more: 0,
        link:
          publicUrl === null
            ? null
            : { text: 'Open the alert and its runbook', url: `${publicUrl}${pageOf(alert)}` },
      };
      return [id, { address: webhook, message }];
    }),
  );
}
