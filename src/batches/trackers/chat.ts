import type { ChatTarget } from '../../outbox/chat-sender.ts';
import type { ClaimedMessage } from '../../outbox/queue.ts';
import { webhookUrl } from '../../outbox/webhooks/webhook-limits.ts';
import type { Database } from '../../platform/db/pool.ts';
import { sealColumn } from '../../platform/db/seal-column.ts';
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

/** Encrypts stored addresses with the first key of the box. */
export function sealChats(database: Database, box: SecretBox): Promise<void> {
  return sealColumn(database, box, { table: 'trackers', column: 'chat', subject: 'id' }, purposeOf);
}
