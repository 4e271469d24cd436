import { getDelivery } from './get-delivery.ts';
import { getWebhookSettings } from './get-webhook-settings.ts';
import { listDeliveries } from './list-deliveries.ts';
import { replayDelivery } from './replay-delivery.ts';
import { rotateWebhookSecret } from './rotate-webhook-secret.ts';
import { testWebhook } from './test-webhook.ts';

/** The signing secret of an account, and the log of its deliveries. */
export const WEBHOOK_ENDPOINTS = [
  getWebhookSettings,
  rotateWebhookSecret,
  testWebhook,
  listDeliveries,
  getDelivery,
  replayDelivery,
];
