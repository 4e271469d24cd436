import { DAY_MS } from '../platform/durations.ts';
import type { Stores } from '../platform/stores.ts';
import { type ChatMessage, chatBody } from './chat-message.ts';
import type { ClaimedMessage, Sender, SendingLimits } from './queue.ts';
import { createAddressGuard, type Resolve } from './webhooks/address-guard.ts';
import { CLAIM_MS, createSend } from './webhooks/webhook-sender.ts';

/** What a message to a chat is made of when it is sent: the address of its incoming webhook, which is never stored in it, and its text. */
export interface ChatTarget {
  address: string;
  message: ChatMessage;
}

export interface ChatSenderDeps extends Pick<Stores, 'clock'> {
  /** The setting WEBHOOK_ALLOW_PRIVATE. */
  allowPrivate: boolean;
  /** Returns the targets of messages by their ids; one that is missing has no address any more, and is deleted. */
  targetsOf(messages: readonly ClaimedMessage[]): Promise<ReadonlyMap<string, ChatTarget>>;
  /** How host names are resolved. Default: by the system. */
  resolve?: Resolve;
}

/** Hosts of chats are shared by all accounts, so a host may take more slots than that of a webhook. */
const LIMITS: SendingLimits = { atOnce: 8, perHost: 6, perAccount: 2, hostsPerAccount: 100 };

const KEPT_MS = 7 * DAY_MS;

/** Sends messages to incoming webhooks of chats, in their formats. The guard and the retries are those of webhooks. */
export function createChatSender({ allowPrivate, targetsOf, clock, resolve }: ChatSenderDeps): Sender {
  const send = createSend({ guard: createAddressGuard(allowPrivate, resolve), clock });
  return {
    channel: 'chat',
    accepted: 'delivered',
    claimMs: CLAIM_MS,
    limits: LIMITS,
    expiresAt: (_message, endedAt) => new Date(endedAt + KEPT_MS),

    async prepare(messages) {
      const targets = await targetsOf(messages);
      return async ({ id }) => {
        const target = targets.get(id);
        if (!target) return { state: 'drop', error: null };
        const { address, message } = target;
        const payload = JSON.stringify(chatBody(address, message));
        return send({ url: address, payload, headers: {} });
      };
    },
  };
}
