import { AUDIT_ENDPOINTS } from './audit.ts';
import { BATCH_ENDPOINTS } from './batches.ts';
import { BILLING_ENDPOINTS } from './billing.ts';
import type { EndpointDescription } from './endpoint.ts';
import { FILE_ENDPOINTS } from './files.ts';
import { CALL_ENDPOINTS, JOB_ENDPOINTS } from './jobs.ts';
import { KEY_ENDPOINTS } from './keys.ts';
import { SCHEDULE_ENDPOINTS } from './schedules.ts';
import { SERVICE_ENDPOINTS } from './service.ts';
import { TRACKER_ENDPOINTS } from './trackers.ts';
import { WEBHOOK_ENDPOINTS } from './webhooks.ts';

/** The endpoints that need an account and are free. */
export const ACCOUNT_ENDPOINTS = [
  ...JOB_ENDPOINTS,
  ...BATCH_ENDPOINTS,
  ...FILE_ENDPOINTS,
  ...SCHEDULE_ENDPOINTS,
  ...TRACKER_ENDPOINTS,
  ...WEBHOOK_ENDPOINTS,
  ...BILLING_ENDPOINTS,
  ...KEY_ENDPOINTS,
  ...AUDIT_ENDPOINTS,
];

/** Every documented endpoint, in the order of the OpenAPI document. */
export const ENDPOINTS: readonly EndpointDescription[] = [
  ...CALL_ENDPOINTS,
  ...ACCOUNT_ENDPOINTS,
  ...SERVICE_ENDPOINTS,
];
