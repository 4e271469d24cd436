import type { ChatTarget } from '../../outbox/chat-sender.ts';
import type { ClaimedMessage } from '../../outbox/queue.ts';
import { webhookUrl } from '../../outbox/webhooks/webhook-limits.ts';
import type { Database } from '../../platform/db/pool.ts';
import type { SecretBox } from '../../platform/secret-box.ts';
import { BatchFaults } from '../upload-text.ts';
import type { AlertFacts } from './alert.ts';
import type { Tracker } from './tracker.ts';

const purposeOf = (trackerId: string) => `chat of tracker ${trackerId}`;

/** Checks and seals the address of an incoming webhook. @throws BatchFaults. */
export function sealedChat(
  address: string | null,
  { trackerId, secretBox, allowPrivate }: { trackerId: string; secretBox: SecretBox; allowPrivate: boolean },
): Tracker['chat'] {
  if (address === null) return null;
  const checked = webhookUrl(allowPrivate).safeParse(address);
  if (!checked.success)
    throw new BatchFaults(
      checked.error.issues.map(({ message }) => ({ parameter: 'chat', problem: message })),
    );
  return {
    sealed: secretBox.seal(checked.data, purposeOf(trackerId)),
    host: new URL(checked.data).host,
  };
}

/** Returns the addresses and texts of messages about alerts. A tracker that was deleted, or has no chat any more, has none. */
export async function chatTargets(
  database: Database,
  { secretBox, publicUrl }: { secretBox: SecretBox; publicUrl: string | null },
  messages: readonly ClaimedMessage[],
): Promise<Map<string, ChatTarget>> {
  const facts = messages.map(({ id, payload }) => ({ id, ...(JSON.parse(payload) as AlertFacts) }));
  const { rows } = await database.query<{ trackerId: string; chat: string }>(
    'select id as "trackerId", chat from trackers where id = any($1::uuid[]) and chat is not null',
    [facts.map(({ trackerId }) => trackerId)],
  );
  const sealed = new Map(rows.map(({ trackerId, chat }) => [trackerId, chat]));
  const targets = new Map<string, ChatTarget>();
  for (const { id, trackerId, name, page, alerts, more } of facts) {
    const address = secretBox.open(sealed.get(trackerId) ?? '', purposeOf(trackerId));
    if (!address) continue;
    const count = alerts.length + more;
    const message = {
      title: `${count === 1 ? '1 alert' : `${count} alerts`}: ${name}`,
      lines: alerts.map(({ title, text }) => ({ name: title, text })),
      more,
      link: publicUrl === null ? null : { text: 'Open the tracker', url: `${publicUrl}${page}` },
    };
    targets.set(id, { address, message });
  }
  return targets;
}

const SEALED_AT_ONCE = 1_000;

/** Encrypts stored addresses with the first key of the box. Several processes may do so at the same time. */
export async function sealChats(database: Database, box: SecretBox): Promise<void> {
  if (box.prefix === null) return;
  const { rows } = await database.query<{ trackerId: string; chat: string }>(
    `select id as "trackerId", chat from trackers where chat is not null and not starts_with(chat, $1) limit ${SEALED_AT_ONCE}`,
    [box.prefix],
  );
  for (const { trackerId, chat } of rows) {
    const opened = box.open(chat, purposeOf(trackerId));
    if (opened === null) continue;
    const sealed = box.seal(opened, purposeOf(trackerId));
    await database.query('update trackers set chat = $3 where id = $1 and chat = $2', [
      trackerId,
      chat,
      sealed,
    ]);
  }
}
