import { BATCH_ENDPOINTS } from './batches/index.ts';
import { BILLING_ENDPOINTS } from './billing/index.ts';
import type { EndpointDescription } from './endpoint.ts';
import { CALL_ENDPOINTS, JOB_ENDPOINTS } from './jobs/index.ts';
import { KEY_ENDPOINTS } from './keys/index.ts';
import { SCHEDULE_ENDPOINTS } from './schedules/index.ts';
import { SERVICE_ENDPOINTS } from './service/index.ts';
import { TRACKER_ENDPOINTS } from './trackers/index.ts';
import { WEBHOOK_ENDPOINTS } from './webhooks/index.ts';

/** Every documented endpoint, in the order of the OpenAPI document. */
export const ENDPOINTS: readonly EndpointDescription[] = [
  ...CALL_ENDPOINTS,
  ...JOB_ENDPOINTS,
  ...BATCH_ENDPOINTS,
  ...SCHEDULE_ENDPOINTS,
  ...TRACKER_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  ...BILLING_ENDPOINTS,
  ...KEY_ENDPOINTS,
  ...SERVICE_ENDPOINTS,
];
